// What a replica remembers of each client's sessions: the last request, so that none is executed
// twice, and its reply, so that a retransmission is answered without executing.
//
// last_timestamp, and with it the decision whether an ordered request is executed, depends on the
// agreed order alone and so is the same at all correct replicas. Results are bounded in bytes:
// beyond it the oldest of the client that has most are forgotten and their digest is kept, so that
// no client takes another's. All correct replicas forget the same ones; a client that still waits
// for one then runs into its deadline, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/allowance.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

using SessionName = std::pair<NodeId, std::uint32_t>;  // its client, and its number there

struct Session {
  NodeId client = 0;
  std::uint32_t number = 0;
  // The newest ordered request that was handed out for execution.
  std::uint64_t last_timestamp = 0;
  bool is_ahead = false;  // that one is executed ahead, and not ordered yet
  [[nodiscard]] std::uint64_t ordered_timestamp() const {
    return is_ahead ? last_timestamp - 1 : last_timestamp;
  }
  enum class Reply : std::uint8_t {
    awaited,
    known,  // what follows is
    lost,   // it came with no state that took the place of this replica's, and never will
  };
  Reply reply = Reply::awaited;
  ReplyStatus status = ReplyStatus::done;
  Sigma sigma = 0;
  Digest digest{};
  bool has_result = false;
  [[nodiscard]] ByteView result() const {
    return repeated ? ByteView(*repeated).last(result_size) : ByteView(kept);
  }
  Bytes kept;  // the result, until it is repeated
  // Then the reply that repeated it, which ends with the result: it is sent as often as it is
  // wanted, so the result is held once.
  Frame repeated;
  std::size_t result_size = 0;
  // What the head of that reply says, and the keys that its tag was made with.
  struct RepeatedAs {
    std::uint64_t view = 0;
    bool tentative = false;
    std::uint64_t key_generation = 0;

    friend bool operator==(const RepeatedAs&, const RepeatedAs&) = default;
  };
  std::optional<RepeatedAs> repeated_as;
  Allowance repetitions;
  Allowance stale_answers;

  std::uint64_t agreed_timestamp = 0;      // newest that is committed and may wait for execution
  std::uint64_t queued_timestamp = 0;      // newest in the primary's queue
  std::uint64_t full_reply_timestamp = 0;  // retransmitted: every replica sends the result
  std::uint64_t known_timestamp = 0;       // newest request that came with a valid MAC ...
  Digest known_digest{};                   // ... and its digest
  Digest known_signed{};  // of the last signed one whose signature was right, with its signature
  std::uint64_t known_signed_timestamp = 0;

  // The newest read outside the order.
  std::uint64_t read_timestamp = 0;
  bool read_in_flight = false;
  bool read_full_reply = false;
  Allowance read_repetitions;

  // Neighbours in the list of its client's kept results, by age.
  Session* older = nullptr;
  Session* newer = nullptr;
};

class ClientTable {
 public:
  explicit ClientTable(std::uint64_t result_bytes_max) : result_bytes_max_(result_bytes_max) {}

  // Creates what is not there. Requires a session below kSessionsMax of a member of the group;
  // both together bound the table. The reference stays valid.
  Session& session(NodeId client, std::uint32_t session);

  // True when the session's reply may be sent once more. A client may lose every reply, and its
  // request may be repeated by anybody who has seen it: by another replica, or out of a record.
  [[nodiscard]] bool may_repeat(Session& session, TimePoint now);

  // Likewise, the session's last timestamp be told to one that has fallen behind it.
  [[nodiscard]] static bool may_answer_stale(Session& session, TimePoint now);

  // Likewise, its newest read outside the order be executed once more.
  [[nodiscard]] static bool may_read_again(Session& session, TimePoint now);

  // A new request takes the session over: forgets the reply of the one before.
  void begin(Session& session, std::uint64_t timestamp);
  // The reply to the session's last request.
  void set_reply(Session& session, ReplyStatus status, Sigma sigma, const Digest& digest);
  // Yields how many older results were forgotten for this one.
  std::uint64_t keep_result(Session& session, Bytes result);

  // For checkpoints (core/execution/session_tree.hpp): sessions in blocks of 64, of which one bit
  // each tells that it has changed since it was last asked for, or that it was ever used.
  struct Blocks {
    NodeId client = 0;
    std::uint64_t changed = 0;
    std::uint64_t used = 0;
  };
  // By rising clients, those that have ever had something ordered.
  [[nodiscard]] std::vector<Blocks> take_changes();
  // Null when the session has never been used.
  [[nodiscard]] const Session* find(NodeId client, std::uint32_t session) const;
  // Forgets what was executed, for whom, and the replies: a checkpoint's state takes its place.
  void reset();
  // What a checkpoint says of a session, whose reply is lost unless set_reply() follows. Requires
  // that reset() came before.
  void restore(NodeId client, std::uint32_t session, std::uint64_t timestamp);

  // A batch of this primary has a request under this client's name whose MAC is wrong here: the
  // doing of the client, or of the primary. Where enough replicas find one, nobody agrees on the
  // batch, and the primary loses its view. In the batches of two primaries, it is taken for the
  // client's: for a while, then longer each time, this replica proposes only what the client has
  // signed; after as much time again without another one, all that is forgotten.
  void note_wrong_mac(NodeId client, NodeId primary, TimePoint now);
  [[nodiscard]] bool demands_signature(NodeId client, TimePoint now) const;

  // The primary's queue is no more.
  void forget_queued();

  [[nodiscard]] std::uint64_t result_bytes() const { return result_bytes_; }

 private:
  struct Demand {
    std::uint64_t primaries = 0;  // in whose batches MACs were wrong, one bit each
    TimePoint noted_at;           // the last one
    TimePoint until;
    Duration length{};
  };

  struct Client {
    std::vector<std::unique_ptr<Session>> sessions;
    std::uint64_t changed = 0;
    std::uint64_t used = 0;
    Allowance repeated_bytes;
    std::uint64_t result_bytes = 0;
    Session* oldest = nullptr;  // of those whose results are kept
    Session* newest = nullptr;
  };

  static void demand_signatures(Demand& demand, TimePoint now);
  void note_change(const Session& session);
  void forget_result(Session& session);
  // Requires that a result is kept.
  [[nodiscard]] Session* oldest_of_largest() const;

  std::uint64_t result_bytes_max_;
  std::uint64_t result_bytes_ = 0;
  std::map<NodeId, Client> clients_;
  std::unordered_map<NodeId, Demand> demands_;
};

}  // namespace prophecy::pbft

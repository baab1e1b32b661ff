// `RequestQueue` holds the requests that wait at the primary. The first batch is laid out as it
// will be proposed; what does not fit into it waits behind it, each client in a line of its own.
//
// Clients take turns by the bytes that they have had proposed (start-time fair queueing: Goyal, Vin
// and Cheng, SIGCOMM 1996), in one line first come, first served. So a client waits for one batch,
// and for one turn of each other client, however much these ask for.
//
// A request by digest joins a batch only while 2f other replicas have the bodies of all of its
// requests: nobody else can prepare it. Else it waits for the next batch, which it may begin; the
// clients behind it do not wait for it.
//
// One client can fill no more than half of the room. When the room is full, a client that has less
// in it than another one takes the place of the last requests of the client that has most, among
// those with two or more in line. So the room is shared as well, however many clients flood it.
//
// A request that a backup waits for goes to the front of its client's line, in the place of the
// last one there if the client has filled its share: a primary is not to be blamed for what a
// client that asks for too much made it drop. Where the client's share is all in the first batch,
// such requests go beyond the room: into that batch while it is not full, and one of each client
// behind it.
//
// So no more requests wait than queue_requests_max, one batch, and one of each client. Count what
// lines hold beyond one request each. It is below the room when a request is taken within the room,
// does not change when a request takes another one's place in a line of two or more, nor when a
// request goes beyond the room, as that begins a line.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <vector>

#include "pbft/core/state/log.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/core/state/settings.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

class RequestQueue {
 public:
  struct Batch {
    PrePrepareBuilder builder;
    std::vector<BatchRequest> requests;
    std::vector<BodyHandle> bodies;     // in the order of the requests that are by digest
    std::uint64_t operation_bytes = 0;  // of those
    std::uint32_t signed_requests = 0;
    // Other replicas that have each of the bodies, and all of them; one bit for each replica.
    std::vector<std::uint64_t> holders_of{};
    std::uint64_t holders = UINT64_MAX;
  };
  // Of a request by digest; empty for others.
  struct HeldBody {
    BodyHandle handle;
    std::uint64_t holders = 0;  // other replicas that have it and vote in this view, one bit each
  };
  // A request that had to make room for another client's.
  struct Displaced {
    NodeId client = 0;
    std::uint32_t session = 0;
    std::uint64_t timestamp = 0;
  };

  RequestQueue(const ReplicaSettings& settings, const QuorumRule& quorum)
      : settings_(settings),
        authenticator_size_(quorum.replicas * kTagSize),
        other_holders_(quorum.holders - 1) {}

  enum class Place : std::uint8_t { last, front };  // in its client's line
  // False when there is no room. Appends what has made room to `displaced`.
  [[nodiscard]] bool add(const RequestMessage& request, ByteView frame, const Digest& digest,
                         const HeldBody& body, Place place, std::vector<Displaced>& displaced);
  // Brings the session's newest request that waits to the front, if it has this timestamp or a
  // later one.
  void bring_forward(NodeId client, std::uint32_t session, std::uint64_t timestamp);
  // Other replicas that have the body of this request by digest by now: it may join the first batch
  // then, or others may.
  void note_holders(NodeId client, std::uint32_t session, std::uint64_t timestamp,
                    std::uint64_t holders);
  [[nodiscard]] bool empty() const { return !first_; }
  // Nothing more goes into the first batch. Requires !empty().
  [[nodiscard]] bool first_is_full() const;
  void clear();
  // To carry the group to its next checkpoint.
  [[nodiscard]] static Batch without_requests() { return {PrePrepareBuilder(0), {}, {}}; }
  // Requires !empty().
  [[nodiscard]] Batch take();

  [[nodiscard]] std::uint64_t requests() const { return requests_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  // Behind the first batch.
  struct Waiting {
    BatchRequest request;  // `operation_at` in its own frame
    Bytes frame;
    Digest digest{};
    HeldBody body;
  };
  using Line = std::list<Waiting>;
  struct Client {
    std::uint64_t requests = 0;  // also those in the first batch
    std::uint64_t bytes = 0;
    Line line;
    std::map<std::uint32_t, Line::iterator> newest;  // by session, of those in the line
    std::uint64_t line_bytes = 0;
    std::uint64_t turn = 0;  // the client with the lowest is next
  };

  [[nodiscard]] bool is_over_share(const Client& client, std::uint64_t bytes) const;
  [[nodiscard]] bool make_room(const Client& asking, std::uint64_t bytes,
                               std::vector<Displaced>& displaced);
  void displace_last(Client& client, std::vector<Displaced>& displaced);
  void leave_line(Client& client, Line::iterator waiting);
  // Enough replicas have the bodies of the first batch and this one.
  [[nodiscard]] bool may_join(const BatchRequest& request, const HeldBody& body) const;
  // True when it may join the first batch, which has room for it, or there is none yet.
  [[nodiscard]] bool fits(const BatchRequest& request, const HeldBody& body) const;
  void lay_out(BatchRequest request, ByteView frame, const Digest& digest, const HeldBody& body);
  // Of those whose next request may join the first batch; null when there is none.
  [[nodiscard]] Client* next_client();
  // The next batch, of those that wait.
  void fill();

  const ReplicaSettings& settings_;
  std::size_t authenticator_size_;
  std::uint32_t other_holders_;  // of all bodies of a batch, at least
  std::optional<Batch> first_;
  std::map<NodeId, Client> clients_;
  std::uint64_t requests_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t waiting_ = 0;  // requests behind the first batch
  std::uint64_t turn_ = 0;     // of the client that was served last
};

}  // namespace prophecy::pbft

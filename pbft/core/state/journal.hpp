// What a replica must not forget, or it would contradict itself after a crash: what it has
// pre-prepared (Q) and prepared (P), in which view it is, and the checkpoint that it can begin
// from. Written as keys and values that the shell puts on its disk before the frames of the same
// event leave; read back once, at the start.
//
//   'v'                      view u64, changing u8
//   'n'                      the frame by which the view began
//   'q' sequence digest      view u64         the batch was pre-prepared there, last in this view
//   'c' sequence digest      a pre-prepare's frame: its content
//   'p' sequence             view u64, digest 32
//   'd' sequence             the digests of the batches from there on that were executed. Written
//                            before a checkpoint message leaves: so of a stable checkpoint 2f+1
//                            replicas have the batches on their disks, and a group that was
//                            switched off as a whole comes back
//   'k'                      sequence u64, order 32, replies 32, service 32: a checkpoint whose
//   parts
//                            are on the disk. Everything up to it is left out.
//   's'                      count u16, the frames that prove the last stable checkpoint
//   'm'                      incarnation u64, boot u64, silent until u64, state lost u8
//   'i' replica              incarnation u64 of a peer that has rejoined, view u64 of this one then
//
// Sequence numbers in keys are big endian, so that they sort.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/log.hpp"

namespace prophecy::pbft {

// A replica that has forgotten what it said before is another incarnation of itself.
struct Membership {
  std::uint64_t incarnation = 0;
  std::uint64_t boot = 0;          // rises with every start
  std::uint64_t silent_until = 0;  // votes on nothing up to this sequence number
  bool state_lost = false;         // has no state of its own to begin from, and is not new either
};

// What this replica has pledged to a peer that lost its memory: no view-change message of an older
// incarnation counts, for a view above the one that this replica was in then.
struct Rebirth {
  std::uint64_t incarnation = 0;
  std::uint64_t view = 0;

  friend bool operator==(const Rebirth&, const Rebirth&) = default;
};

using StoredRecords = std::vector<std::pair<Bytes, Bytes>>;  // by rising keys

// What a journal says.
struct Remembered {
  struct Proposed {
    std::uint64_t sequence = 0;
    std::uint64_t view = 0;
    Digest batch{};
  };
  struct Prepared {
    std::uint64_t sequence = 0;
    PreparedRecord record;
  };
  std::uint64_t view = 0;
  bool has_view = false;  // one was written, be it 0
  bool changing_view = false;
  Frame new_view;
  std::map<std::uint64_t, Digest> decided;
  std::map<std::pair<std::uint64_t, Digest>, Frame> contents;
  std::vector<Proposed> proposed;
  std::vector<Prepared> prepared;
  std::optional<CheckpointClaim> base;
  std::vector<Frame> certificate;
  Membership membership;
  std::map<NodeId, Rebirth> rebirths;
};

// Null when it is not there; of the empty batch, too, which has none.
[[nodiscard]] Frame content_of(const Remembered& remembered, std::uint64_t sequence,
                               const Digest& batch);

// Nothing when a record is none of a journal, or could not be one of a replica in a group of this
// size (pbft/core/state/journal_check.hpp): then the whole is to be treated as lost.
[[nodiscard]] std::optional<Remembered> read_journal(const StoredRecords& records,
                                                     std::uint32_t replicas);

class Journal {
 public:
  // Writes nothing unless it is kept.
  explicit Journal(bool is_kept) : is_kept_(is_kept) {}

  [[nodiscard]] bool is_kept() const { return is_kept_; }
  // What is in the store already.
  void resume(const Remembered& remembered);

  void view(std::uint64_t view, bool changing, ReplicaActions& out);
  void new_view(const Frame& frame, ReplicaActions& out);
  // `content` may be null. Writes what is new of it.
  void proposed(std::uint64_t sequence, const Digest& batch, std::uint64_t view,
                const Frame& content, ReplicaActions& out);
  void prepared(std::uint64_t sequence, const PreparedRecord& record, ReplicaActions& out);
  // Others have committed it, and this replica will execute it upon their word.
  void decided(std::uint64_t sequence, const Digest& batch, const Frame& content,
               ReplicaActions& out);
  // The batch is the next to be executed. Written with the next checkpoint.
  void ordered(std::uint64_t sequence, const Digest& batch, const Frame& content);
  void executed_to_checkpoint(ReplicaActions& out);
  // This replica's state has been replaced by that of a checkpoint.
  void forget_ordered() { ordered_.clear(); }
  // What proves the stable checkpoint, if it is another one than before. Comes before any vote that
  // it makes possible: a view-change message covers the window behind it, and nothing beyond.
  void stable(const Checkpoints& checkpoints, ReplicaActions& out);
  // Requires that the checkpoint's parts are on the disk. Leaves out what is up to it.
  void base(const CheckpointClaim& claim, ReplicaActions& out);
  // Nothing can be put on the disk to begin from, and what is kept is too much: forgets what is up
  // to the stable checkpoint. Requires that it was written (stable()), which says that no vote
  // there matters any more. A restart has the group's state fetched then.
  void let_go(std::uint64_t stable, ReplicaActions& out);
  // The base has turned out to be wrong.
  void no_base(ReplicaActions& out) const;
  void membership(const Membership& membership, ReplicaActions& out) const;
  void rebirth(NodeId peer, const Rebirth& rebirth, ReplicaActions& out) const;

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t stable_bytes() const { return stable_bytes_; }
  // The highest number that has a record; 0 when none has.
  [[nodiscard]] std::uint64_t last() const {
    return written_.empty() ? 0 : written_.rbegin()->first;
  }
  // Something was said that binds this replica.
  [[nodiscard]] bool has_promised() const { return has_promised_; }

 private:
  struct Written {
    Digest batch{};
    std::optional<std::uint64_t> view;  // in which it was pre-prepared, if it was
    std::uint64_t content_bytes = 0;    // 0: its content is not written
  };
  struct AtNumber {
    std::vector<Written> batches;
    std::optional<Digest> prepared;
    std::optional<Digest> decided;
    bool begins = false;  // a record of decided batches begins here
  };
  struct Ordered {
    std::uint64_t sequence = 0;
    Digest batch{};
    Frame content;
  };

  // What is known of the batch there. Of too many at one number the oldest is forgotten that is
  // neither prepared nor decided.
  Written& find(std::uint64_t sequence, const Digest& batch, ReplicaActions& out);
  void write_content(std::uint64_t sequence, Written& written, const Frame& content,
                     ReplicaActions& out);
  void erase_content(std::uint64_t sequence, Written& written, ReplicaActions& out);
  void erase(std::uint64_t sequence, Written& written, ReplicaActions& out);
  void erase_up_to(std::uint64_t last, ReplicaActions& out);

  bool is_kept_;
  bool has_promised_ = false;
  std::uint64_t stable_ = 0;  // the last that was written
  std::map<std::uint64_t, AtNumber> written_;
  std::uint64_t bytes_ = 0;
  std::uint64_t stable_bytes_ = 0;  // up to `stable_`
  std::vector<Ordered> ordered_;    // since the last checkpoint
};

}  // namespace prophecy::pbft

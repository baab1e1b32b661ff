// The message log: what is known of each sequence number from the oldest batch still retained to
// the high water mark, in a ring that is indexed by the sequence number.
//
// Invariant: first_retained() <= s < first_retained() + capacity() for every slot s in use.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/body_handle.hpp"
#include "pbft/core/state/content_shelf.hpp"
#include "pbft/core/state/vote_set.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// A request inside a pre-prepare's frame.
struct BatchRequest {
  NodeId client = 0;
  std::uint32_t session = 0;
  std::uint64_t timestamp = 0;
  NodeId replier = 0;
  std::uint32_t operation_at = 0;  // in the frame; of one by digest, its name
  std::uint64_t operation_size = 0;
  std::uint32_t frame_size = 0;  // of the whole request
  bool by_digest = false;
  bool is_signed = false;  // known at the primary alone
  std::uint64_t epoch = 0;
};

// Of a request that lies in these bytes.
[[nodiscard]] BatchRequest batch_request(const RequestMessage& request, ByteView bytes);
// Requires a message that was decoded from the frame.
[[nodiscard]] std::vector<BatchRequest> batch_requests(const PrePrepareMessage& message,
                                                       const Bytes& frame);

// How far the current view's agreement on a number is; drawn in docs/protocol.md. Votes may arrive
// in every phase.
enum class SlotPhase : std::uint8_t {
  empty,
  awaited,    // settled by the new view, or proposed; its content is not here, or bodies are not
  certified,  // the others have committed it; likewise
  pre_prepared,
  prepared,
  committed,
};

// A batch is executed once, while its number may be agreed on again in every view that comes
// before a stable checkpoint.
enum class SlotExecution : std::uint8_t { none, executing, executed };

// A batch that was pre-prepared at a number, in the newest view in which it was: an element of the
// protocol's set Q.
struct Proposal {
  Digest batch{};
  std::uint64_t view = 0;
  Frame content;  // a pre-prepare's frame of any view; null: the empty batch, or not in memory
  std::vector<BodyHandle> bodies;
  std::optional<Digest> shelved{};  // where the content lies that is not in memory
  std::uint64_t bytes = 0;          // of the content that has come, with the bodies that it names
  std::optional<NodeId> counted_for{};  // among whose unstable bytes they are
};

// An element of the set P.
struct PreparedRecord {
  std::uint64_t view = 0;
  Digest batch{};
};

struct Slot {
  explicit Slot(std::uint32_t replicas)
      : prepares(replicas), commits(replicas), decisions(replicas) {}

  std::uint64_t sequence = 0;  // 0: unused
  // In the current view:
  SlotPhase phase = SlotPhase::empty;
  Digest batch{};  // from awaited on
  // The primary that has proposed the batch to this replica itself. A batch that a new view begins
  // with has none: other replicas hand it on, and may write any name upon it.
  std::optional<NodeId> proposer;
  Frame
      pre_prepare;  // from pre_prepared on, or while its bodies are awaited; null: the empty batch
  std::vector<BodyHandle> bodies;  // that it names, in the order of its requests
  // The batch is certified by others' decisions, and the view agrees on the same one: it began with
  // the batch, or its primary has proposed it. So this replica may vote to prepare it as well.
  bool is_proposed = false;
  Frame own_prepare;  // of a backup
  Frame own_commit;   // from prepared on
  VoteSet prepares;
  VoteSet commits;
  // Over all views:
  std::vector<Proposal> proposals;  // by the view in which each was proposed last
  std::optional<PreparedRecord> prepared;
  VoteSet decisions;              // of others, about what is committed; the newest of each
  TimePoint decisions_since{};    // the oldest of them
  std::optional<Digest> decided;  // the batch that was committed, in whatever view
  // Of the committed batch:
  SlotExecution execution = SlotExecution::none;
  std::vector<BatchRequest> requests;  // from pre_prepared until executing
  AgreedInput input;                   // likewise
  std::uint64_t operation_bytes = 0;   // from executing on
  std::uint32_t results_missing = 0;
};

class Log {
 public:
  // Holds at least `span` sequence numbers.
  Log(std::uint64_t span, std::uint32_t replicas, std::uint64_t body_cost, PartStore& parts);

  // Null when nothing is known of it.
  [[nodiscard]] Slot* find(std::uint64_t sequence);
  [[nodiscard]] const Slot* find(std::uint64_t sequence) const;
  [[nodiscard]] bool reaches(std::uint64_t sequence) const {
    return sequence >= first_retained_ && sequence - first_retained_ < slots_.size();
  }
  // Requires reaches(sequence).
  Slot& open(std::uint64_t sequence);
  // The batch is pre-prepared in this view; its content is null for the empty batch.
  void note_proposal(Slot& slot, const Digest& batch, std::uint64_t view, Frame content,
                     std::vector<BodyHandle> bodies);
  // What the current view agrees on there.
  void set_pre_prepare(Slot& slot, Frame content, std::vector<BodyHandle> bodies);
  // Null when it is not here. May be read from the disk.
  [[nodiscard]] Frame content_of(const Slot& slot, const Digest& batch) const;
  // Begins anew with agreement on all numbers above the stable one. What was proposed, prepared
  // and executed stays; below it, what is committed as well.
  void enter_view(std::uint64_t stable, std::uint64_t highest_proposed);

  // Up to it everything counts as stable.
  void note_stable(std::uint64_t stable);
  // The state goes on behind the last number, or will: batches up to it that were not executed are
  // of no use.
  void forget_unexecuted(std::uint64_t first, std::uint64_t last);
  // The replica has lost its memory. What it said before counts no more: it may have been faulty
  // then, and others may be now.
  void forget_votes_of(NodeId replica);
  // What was executed is undone: it is to be executed again.
  static void forget_execution(Slot& slot);
  // Forgets all below.
  void release_below(std::uint64_t sequence);
  // No restart asks for what is up to this number. Until that is said, the bodies of forgotten
  // batches stay, whose contents the journal has.
  void let_bodies_go(std::uint64_t last);
  // Of batches that were proposed before this view, and are not what it agrees on, so much content
  // is moved from memory to the disk as is beyond `bytes_max` in all.
  void shelve(std::uint64_t view, std::uint64_t bytes_max);

  [[nodiscard]] std::uint64_t capacity() const { return slots_.size(); }
  [[nodiscard]] std::uint64_t first_retained() const { return first_retained_; }
  // In the current view.
  [[nodiscard]] std::uint64_t highest_proposed() const { return highest_proposed_; }
  // In any view.
  [[nodiscard]] std::uint64_t highest_known() const { return highest_known_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  // In memory, with the bodies that it names.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // From this number on, of stable batches: contents in memory, without bodies.
  [[nodiscard]] std::uint64_t stable_content_bytes(std::uint64_t first) const;
  // In memory or on the shelf: what this primary has proposed above the stable checkpoint, in all
  // its views since this replica's start.
  [[nodiscard]] std::uint64_t unstable_bytes(NodeId primary) const {
    return unstable_bytes_.at(primary);
  }
  // Of bodies whose batches it has forgotten.
  [[nodiscard]] std::uint64_t left_bytes() const { return left_bytes_; }
  // Of what the current view agrees on above the stable checkpoint.
  [[nodiscard]] std::uint64_t view_bytes() const { return view_bytes_; }

 private:
  void reset(Slot& slot);
  void forget_oldest_proposal(Slot& slot);
  void leave_memory(Proposal& proposal);
  void forget_content(std::uint64_t sequence, Proposal& proposal);
  void count_as_stable(Proposal& proposal);

  [[nodiscard]] std::uint64_t bytes_with(const Frame& content,
                                         const std::vector<BodyHandle>& bodies) const;

  ContentShelf shelf_;
  std::uint64_t body_cost_;
  std::vector<Slot> slots_;
  std::uint64_t mask_;
  std::uint64_t first_retained_ = 1;
  std::uint64_t highest_proposed_ = 0;
  std::uint64_t highest_known_ = 0;
  std::uint64_t batches_ = 0;  // proposals with content
  std::uint64_t bytes_ = 0;    // of it, with the bodies that it names
  std::uint64_t view_bytes_ = 0;
  std::uint64_t stable_ = 0;
  std::map<std::uint64_t, std::vector<BodyHandle>> left_bodies_;  // by number
  std::uint64_t left_bytes_ = 0;
  std::uint64_t bodies_gone_ = 0;
  std::vector<std::uint64_t> unstable_bytes_;  // by primary
};

}  // namespace prophecy::pbft

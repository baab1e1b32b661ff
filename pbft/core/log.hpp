// The message log: what is known of each sequence number from the oldest batch still retained to
// the high water mark, in a ring that is indexed by the sequence number.
//
// Invariant: first_retained() <= s < first_retained() + capacity() for every slot s in use.
#pragma once

#include <cstdint>
#include <vector>

#include "pbft/core/actions.hpp"
#include "pbft/core/vote_set.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

// A request inside a pre-prepare's frame.
struct BatchRequest {
  NodeId client = 0;
  std::uint32_t session = 0;
  std::uint64_t timestamp = 0;
  NodeId replier = 0;
  std::uint32_t operation_at = 0;  // in the frame
  std::uint32_t operation_size = 0;
};

// empty -> pre_prepared -> prepared -> committed -> executing -> executed; drawn in
// docs/protocol.md. Votes may arrive in every phase.
enum class SlotPhase : std::uint8_t {
  empty,
  pre_prepared,
  prepared,
  committed,
  executing,
  executed,
};

struct Slot {
  explicit Slot(std::uint32_t replicas) : prepares(replicas), commits(replicas) {}

  std::uint64_t sequence = 0;  // 0: unused
  SlotPhase phase = SlotPhase::empty;
  // From pre_prepared on:
  Digest batch{};
  Frame pre_prepare;
  std::vector<BatchRequest> requests;  // until executed
  Frame own_prepare;                   // of a backup
  Frame own_commit;                    // from prepared on
  VoteSet prepares;
  VoteSet commits;
  // From executing on:
  std::vector<Digest> results;
  std::uint64_t operation_bytes = 0;
  std::uint32_t results_missing = 0;
  bool result_unavailable = false;
};

class Log {
 public:
  // Holds at least `span` sequence numbers.
  Log(std::uint64_t span, std::uint32_t replicas);

  // Null when nothing is known of it.
  [[nodiscard]] Slot* find(std::uint64_t sequence);
  [[nodiscard]] const Slot* find(std::uint64_t sequence) const;
  // Requires first_retained() <= sequence < first_retained() + capacity().
  Slot& open(std::uint64_t sequence);
  // Accounts for the frame, and notes the highest sequence number that was proposed.
  void set_pre_prepare(Slot& slot, Frame frame);

  // Forgets all below.
  void release_below(std::uint64_t sequence);

  [[nodiscard]] std::uint64_t capacity() const { return slots_.size(); }
  [[nodiscard]] std::uint64_t first_retained() const { return first_retained_; }
  [[nodiscard]] std::uint64_t highest_proposed() const { return highest_proposed_; }
  [[nodiscard]] std::uint64_t batches() const { return batches_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void reset(Slot& slot);

  std::vector<Slot> slots_;
  std::uint64_t mask_;
  std::uint64_t first_retained_ = 1;
  std::uint64_t highest_proposed_ = 0;
  std::uint64_t batches_ = 0;  // with a pre-prepare
  std::uint64_t bytes_ = 0;    // of their frames
};

}  // namespace prophecy::pbft

// ExecutionStage: going on from the present state of the service, at an operator's word.
#include <algorithm>

#include "base/assert.hpp"
#include "pbft/core/execution/execution.hpp"

namespace prophecy::pbft {

void ExecutionStage::look(ReplicaActions& out) {
  ASSERT(may_look());
  state_ = State::looking;
  out.look = true;
}

bool ExecutionStage::end_look(const Digest& service) {
  if (state_ != State::looking) return false;
  hold_looked_at(service);
  state_ = to_restore_ ? State::quiescing : State::running;
  return true;
}

// The next one is built upon its parts. What that does not have goes then, or it would stay for
// ever. A state of which a part is missing goes at once: its service takes a root that the store
// holds for the sign that all below it is there, and would never keep the missing part again.
void ExecutionStage::hold_looked_at(const Digest& service) {
  const Digest before = looked_at_;
  const bool is_whole = service != Digest{} && parts_.pin(service);
  if (service != Digest{} && !is_whole) parts_.discard(service);
  looked_at_ = is_whole ? service : Digest{};
  if (before != Digest{}) parts_.unpin(before);
}

bool ExecutionStage::adopt(std::uint64_t sequence, const CheckpointClaim* from,
                           ReplicaActions& out) {
  ASSERT(may_look());
  is_frozen_ = false;
  ++restores_;
  if (from != nullptr && !load(CheckpointClaim(*from))) return false;
  ASSERT(context_.progress.last_ordered <= sequence);
  unreliable_ = false;
  in_doubt_since_.reset();
  adopted_at_ = sequence;
  writes_.ask_for_checkpoint(std::max<std::uint64_t>(sequence, 1));
  out.adopt = true;
  return true;
}

// Its client gets no vote, and has none of the others: whether it was carried out, the state says.
void ExecutionStage::pass_over(const Pending& pending, Session& session, ReplicaActions& out) {
  clients_.set_reply(session, ReplyStatus::unavailable, pending.sigma, Digest{});
  send_reply(pending, ReplyStatus::unavailable, Digest{}, {}, false, out);
}

}  // namespace prophecy::pbft

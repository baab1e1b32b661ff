// ExecutionStage: going on from the present state of the service, at an operator's word.
#include "base/assert.hpp"
#include "pbft/core/execution/execution.hpp"

namespace prophecy::pbft {

void ExecutionStage::look(ReplicaActions& out) {
  ASSERT(may_look());
  state_ = State::looking;
  out.look = true;
}

bool ExecutionStage::end_look() {
  if (state_ != State::looking) return false;
  state_ = to_restore_ ? State::quiescing : State::running;
  return true;
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
  writes_.ask_for_checkpoint(sequence + 1);
  out.adopt = true;
  return true;
}

// Its client gets no vote, and has none of the others: whether it was carried out, the state says.
void ExecutionStage::pass_over(const Pending& pending, Session& session, ReplicaActions& out) {
  clients_.set_reply(session, ReplyStatus::unavailable, pending.sigma, Digest{});
  send_reply(pending, ReplyStatus::unavailable, Digest{}, {}, false, out);
}

}  // namespace prophecy::pbft

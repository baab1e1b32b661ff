#include "dht/core/ring_node.hpp"

#include <utility>

#include "base/assert.hpp"

namespace prophecy::dht {

void RingNode::on_turns(std::uint64_t ticket, BootTime now) {
  auto found = turns_.extract(ticket);
  ASSERT(!found.empty());
  if (found.mapped().empty()) return ring_.on_quiesced(ticket, now);
  clearings_.push_back({ticket, std::move(found.mapped())});
}

void RingNode::on_barrier(std::uint64_t ticket, std::optional<OrderNumber> number, BootTime now) {
  if (!number) return ring_.on_barrier_failed(ticket, now);
  ring_.on_barrier(ticket, *number, now);
}

void RingNode::on_settings_carried_out(SettingsNumber number, BootTime now) {
  const auto first = settings_.first_adopted();
  if (first && number >= *first) ring_.allow_announcing(now);
}

std::optional<RingNodeAction> RingNode::take_action(BootTime now) {
  if (!clearings_.empty()) {
    ClearPartitions clearing = std::move(clearings_.front());
    clearings_.pop_front();
    return clearing;
  }
  if (auto action = ring_.take_action()) {
    if (auto* const call = std::get_if<CoordinationCall>(&*action)) return std::move(*call);
    if (auto* const report = std::get_if<RingReport>(&*action)) return std::move(*report);
    return carry_out(std::move(std::get<OwnershipAction>(*action)), now);
  }
  if (auto send = taker_.take_send()) return std::move(*send);
  if (auto action = settings_.take_action()) return pass_on(std::move(*action));
  return std::nullopt;
}

RingNodeAction RingNode::pass_on(SettingsAction action) {
  if (auto* const problem = std::get_if<SettingsProblem>(&action))
    return RingReport{std::move(problem->path), std::move(problem->message)};
  if (auto* const call = std::get_if<CoordinationCall>(&action)) return std::move(*call);
  if (auto* const adopted = std::get_if<SettingsAdopted>(&action)) return std::move(*adopted);
  return std::move(std::get<SettingsOutcome>(action));
}

RingNodeAction RingNode::carry_out(OwnershipAction action, BootTime now) {
  using Kind = OwnershipAction::Kind;
  switch (action.kind) {
    case Kind::quiesce:
      turns_[action.ticket] = {};
      return AwaitTurns{action.ticket, AwaitTurns::Before::hand_over};
    case Kind::clear:
      ASSERT(!action.partitions.empty());
      turns_[action.ticket] = std::move(action.partitions);
      return AwaitTurns{action.ticket, AwaitTurns::Before::clearing};
    case Kind::barrier:
      return OrderBarrier{action.ticket};
    case Kind::taken:
      taker_.on_taken(action.partitions, action.barrier, now);
      return PartitionsTaken{std::move(action.partitions)};
  }
  UNREACHABLE();
}

}  // namespace prophecy::dht

#include "simulation/replica_host.hpp"

#include <utility>

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;

pbft::QuorumRule rule_of(const Scenario& scenario) {
  pbft::QuorumRule rule = pbft::QuorumRule::standard(scenario.faults);
  if (scenario.canary == Canary::small_quorum) {
    --rule.prepared;
    --rule.committed;
  }
  if (scenario.canary == Canary::small_view_change) rule.view_change = rule.weak;
  return rule;
}

// Less than is tolerated.
Duration clock_skew(NodeId replica) {
  return milliseconds(700) * (replica % 3);
}

}  // namespace

std::uint64_t SimulatedInputs::wall_time() {
  const Duration since_start = (scheduler_.now() - TimePoint{}) + skew_;
  return kEpoch + static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

pbft::Seed SimulatedInputs::fresh_seed() {
  pbft::Seed seed;
  for (auto& byte : seed)
    byte = static_cast<std::uint8_t>(random_.next());
  return seed;
}

ReplicaHost::ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
                         Random& random, Checker& checker, Send send)
    : scenario_(scenario),
      self_(keys.self()),
      scheduler_(scheduler),
      random_(random),
      checker_(checker),
      send_(std::move(send)),
      inputs_(clock_skew(keys.self()), scheduler, random),
      replica_(scenario.replica, keys, inputs_, rule_of(scenario)),
      byzantine_(keys, random, scenario.equivocator == keys.self()) {}

void ReplicaHost::start() {
  arm();
}

void ReplicaHost::on_frame(ByteView frame) {
  if (crashed_) return;
  pbft::ReplicaActions actions;
  replica_.on_frame(frame, scheduler_.now(), actions);
  carry_out(actions);
}

void ReplicaHost::carry_out(pbft::ReplicaActions& actions) {
  for (const pbft::Outgoing& outgoing : actions.sends) {
    if (!scenario_.is_byzantine(self_)) {
      send_(self_, outgoing);
      continue;
    }
    for (const pbft::Outgoing& lie : byzantine_.corrupt(outgoing))
      send_(self_, lie);
  }
  for (const pbft::Execution& execution : actions.executions)
    run(execution);
  arm();
}

// The service takes an operation of the order in at once, and answers later. A read outside the
// order happens whenever it happens.
void ReplicaHost::run(const pbft::Execution& execution) {
  checker_.on_handed_out(self_, execution);
  const Operation operation = decode_operation(execution.operation);
  Duration delay = microseconds(random_.between(10, 3000));
  if (random_.chance(3)) delay += milliseconds(random_.below(60));
  const bool fails =
      !operation.append && ((scenario_.read_failures >> self_) & 1) != 0 && random_.chance(50);
  const auto status = fails ? pbft::ExecutionStatus::unavailable : pbft::ExecutionStatus::done;
  if (execution.read_only) {
    scheduler_.after(delay,
                     [this, id = execution.id, operation, status, storage = execution.storage] {
                       finish(id, status, service_.execute(operation));
                     });
    return;
  }
  if (scenario_.canary == Canary::double_execution && self_ == 1 && operation.id % 5 == 0) {
    checker_.on_handed_out(self_, execution);
  }
  Bytes result = execute(operation);
  scheduler_.after(delay, [this, id = execution.id, status, result = std::move(result)] {
    finish(id, status, result);
  });
}

Bytes ReplicaHost::execute(const Operation& operation) {
  const bool bad_node = self_ == 1 || self_ == 2;  // f+1 of four
  if (scenario_.canary == Canary::lost_write && bad_node && operation.append &&
      operation.id % 3 == 0) {
    RegisterService confirmed_but_forgotten = service_;
    return confirmed_but_forgotten.execute(operation);
  }
  Bytes result = service_.execute(operation);
  if (scenario_.canary == Canary::wrong_result && bad_node && operation.id % 5 == 0) {
    result[10] ^= 1;
  }
  return result;
}

void ReplicaHost::finish(std::uint64_t id, pbft::ExecutionStatus status, Bytes result) {
  if (crashed_) return;
  pbft::ReplicaActions actions;
  replica_.on_executed(id, status, std::move(result), scheduler_.now(), actions);
  carry_out(actions);
}

void ReplicaHost::arm() {
  const TimePoint wanted = replica_.next_timer();
  if (crashed_ || wanted == TimePoint::max() || wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  scheduler_.at(armed_for_, [this, time = armed_for_] {
    if (crashed_ || armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    pbft::ReplicaActions actions;
    replica_.on_tick(scheduler_.now(), actions);
    carry_out(actions);
  });
}

}  // namespace prophecy::simulation

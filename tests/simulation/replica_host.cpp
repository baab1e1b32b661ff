#include "simulation/replica_host.hpp"

#include <utility>

#include "simulation/defects.hpp"

namespace prophecy::simulation {

ReplicaHost::ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
                         Checker& checker, Send send)
    : scenario_(scenario),
      keys_(keys),
      self_(keys.self()),
      scheduler_(scheduler),
      random_(scenario.seed, kPurposeNode + keys.self()),
      checker_(checker),
      send_(std::move(send)),
      clock_(clock_of(scenario, keys.self())),
      replica_(scenario.replica, keys, replica_rule(scenario.canary, scenario.faults)),
      misconduct_(scenario, keys) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    const bool reads = ingredient.kind == IngredientKind::read_failures;
    if (reads && contains(ingredient.nodes, self_)) fails_reads_ = true;
  }
}

void ReplicaHost::start() {
  arm();
}

void ReplicaHost::on_frame(const pbft::Frame& frame) {
  if (crashed_ || !misconduct_.receive(frame, scheduler_.now())) return;
  pbft::ReplicaActions actions;
  replica_.on_frame(*frame, now(), actions);
  if (scenario_.canary == Canary::votes_in_left_view) {
    for (const pbft::Frame& vote : votes_in_left_view(*frame, replica_.status(), keys_)) {
      for (NodeId to = 0; to < keys_.replicas(); ++to)
        actions.sends.push_back({to, 0, vote});
    }
  }
  carry_out(actions);
}

void ReplicaHost::carry_out(pbft::ReplicaActions& actions) {
  for (const pbft::Outgoing& outgoing : actions.sends)
    send(outgoing);
  if (scenario_.canary == Canary::no_session_check) {
    actions.executions = with_repeated(actions.executions, keys_.replicas());
  }
  for (const pbft::Execution& execution : actions.executions)
    run(execution);
  checker_.on_status(self_, replica_.status());
  arm();
}

void ReplicaHost::send(const pbft::Outgoing& outgoing) {
  if (misconduct_.is_none()) return send_(self_, outgoing, {});
  for (const Sending& sending : misconduct_.send(outgoing, scheduler_.now()))
    send_(self_, sending.what, sending.delay);
}

// The service takes an operation of the order in at once, and answers later. A read outside the
// order happens whenever it happens.
void ReplicaHost::run(const pbft::Execution& execution) {
  checker_.on_handed_out(self_, execution);
  const auto operation = decode_operation(execution.operation);
  Duration delay = microseconds(random_.between(10, 3000));
  if (random_.chance(3)) delay += milliseconds(random_.below(60));
  const bool reads = operation && !operation->append;
  const bool fails = reads && fails_reads_ && random_.chance(50);
  const auto status = fails ? pbft::ExecutionStatus::unavailable : pbft::ExecutionStatus::done;
  if (execution.read_only) {
    // Whatever a faulty client calls a read changes nothing.
    scheduler_.after(delay, [this, reads, status, execution] {
      finish(execution.id, status, reads ? service_.execute(execution.operation) : Bytes{});
    });
    return;
  }
  if (scenario_.canary == Canary::double_execution && self_ == 1 && operation &&
      operation->id % 5 == 0) {
    checker_.on_handed_out(self_, execution);
  }
  Bytes result = execute(execution.operation);
  if (execution.id == 0) return;  // repeated by a defect, see with_repeated()
  scheduler_.after(delay, [this, id = execution.id, status, result = std::move(result)] {
    finish(id, status, result);
  });
}

Bytes ReplicaHost::execute(ByteView encoded) {
  const auto operation = decode_operation(encoded);
  const bool bad_node = self_ == 1 || self_ == 2;  // f+1 of four
  if (scenario_.canary == Canary::lost_write && bad_node && operation && operation->append &&
      operation->id % 3 == 0) {
    RegisterService confirmed_but_forgotten = service_;
    return confirmed_but_forgotten.execute(encoded);
  }
  Bytes result = service_.execute(encoded);
  if (scenario_.canary == Canary::wrong_result && bad_node && operation && operation->id % 5 == 0) {
    result[10] ^= 1;
  }
  return result;
}

void ReplicaHost::finish(std::uint64_t id, pbft::ExecutionStatus status, Bytes result) {
  if (crashed_) return;
  pbft::ReplicaActions actions;
  replica_.on_executed(id, status, std::move(result), now(), actions);
  carry_out(actions);
}

void ReplicaHost::arm() {
  const TimePoint shown = replica_.next_timer();
  if (crashed_ || shown == TimePoint::max()) return;
  const TimePoint wanted = clock_.when_it_shows(shown);
  if (wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  scheduler_.at(armed_for_, [this, time = armed_for_] {
    if (crashed_ || armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    pbft::ReplicaActions actions;
    replica_.on_tick(now(), actions);
    carry_out(actions);
  });
}

}  // namespace prophecy::simulation

#include "simulation/client_host.hpp"

#include <utility>

namespace prophecy::simulation {
namespace {

pbft::ClientSettings settings_of(const Scenario& scenario) {
  pbft::ClientSettings settings;
  settings.faults = scenario.faults;
  settings.session_count = scenario.sessions;
  settings.retransmit_after = milliseconds(60);
  settings.retransmit_after_max = milliseconds(400);
  settings.linearizable_reads = scenario.linearizable_reads;
  return settings;
}

pbft::QuorumRule rule_of(const Scenario& scenario) {
  pbft::QuorumRule rule = pbft::QuorumRule::standard(scenario.faults);
  if (scenario.canary == Canary::reply_accepted_early) {
    rule.weak = 1;
    rule.committed = 1;
  }
  return rule;
}

}  // namespace

ClientHost::ClientHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
                       Random& random, Checker& checker, Send send)
    : scenario_(scenario),
      self_(keys.self()),
      scheduler_(scheduler),
      random_(random),
      checker_(checker),
      send_(std::move(send)),
      client_(settings_of(scenario), keys, rule_of(scenario)) {}

void ClientHost::start() {
  for (std::uint32_t i = 0; i < scenario_.calls; ++i) {
    scheduler_.after(microseconds(random_.below(900'000)), [this] { submit_one(); });
  }
}

void ClientHost::submit_one() {
  ++submitted_;
  Call call;
  call.client = self_;
  call.operation.append = random_.chance(scenario_.append_percent);
  call.operation.key = static_cast<std::uint8_t>(random_.below(3));
  call.operation.id = (std::uint64_t{self_} << 32) | submitted_;
  if (random_.chance(scenario_.large_percent)) {
    call.operation.result_size = static_cast<std::uint16_t>(random_.below(2000));
  }
  if (!call.operation.append && random_.chance(scenario_.read_only_percent)) {
    call.kind = pbft::CallKind::read_only;
  }
  call.impatient = random_.chance(scenario_.impatient_percent);
  const bool cancels = call.impatient && random_.chance(50);
  const Duration patience =
      call.impatient ? Duration(milliseconds(random_.below(200))) : Duration(seconds(600));
  call.submitted = scheduler_.now();
  checker_.on_submitted(call);
  pbft::ClientActions actions;
  call.id = client_.submit(encode(call.operation), call.kind, scheduler_.now() + patience,
                           scheduler_.now(), actions);
  open_.emplace(call.id, call);
  if (cancels) {
    scheduler_.after(milliseconds(random_.below(100)), [this, id = call.id] {
      if (open_.erase(id) == 0) return;
      pbft::ClientActions cancelled;
      client_.cancel(id, scheduler_.now(), cancelled);
      carry_out(cancelled);
    });
  }
  carry_out(actions);
}

void ClientHost::on_frame(ByteView frame) {
  pbft::ClientActions actions;
  client_.on_frame(frame, scheduler_.now(), actions);
  carry_out(actions);
}

void ClientHost::carry_out(pbft::ClientActions& actions) {
  for (const pbft::Completion& completion : actions.completions) {
    const auto call = open_.find(completion.call);
    if (call == open_.end()) {
      checker_.fail("client " + std::to_string(self_) + " completes call " +
                    std::to_string(completion.call) + ", which is not open");
      continue;
    }
    checker_.on_completed(call->second, completion);
    open_.erase(call);
  }
  for (const pbft::Refuted& refuted : actions.refuted)
    checker_.on_refuted(refuted.replica);
  for (const pbft::Outgoing& outgoing : actions.sends)
    send_(self_, outgoing);
  arm();
}

void ClientHost::arm() {
  const TimePoint wanted = client_.next_timer();
  if (wanted == TimePoint::max() || wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  scheduler_.at(armed_for_, [this, time = armed_for_] {
    if (armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    pbft::ClientActions actions;
    client_.on_tick(scheduler_.now(), actions);
    carry_out(actions);
  });
}

}  // namespace prophecy::simulation

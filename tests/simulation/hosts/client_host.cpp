#include "simulation/hosts/client_host.hpp"

#include <algorithm>
#include <utility>

namespace prophecy::simulation {
namespace {

// A process whose clock was set back may lose two calls of a session: the first, and the next one
// as well when requests of an earlier process, which was set back too and went on far ahead of its
// clock, are ordered only after the replicas have named the last timestamp that they knew.
constexpr std::uint32_t kFailuresOfSession = 2;

pbft::ClientSettings settings_of(const Scenario& scenario) {
  pbft::ClientSettings settings;
  settings.faults = scenario.faults;
  settings.session_count = scenario.sessions;
  settings.retransmit_after = milliseconds(60);
  settings.retransmit_after_max = milliseconds(400);
  settings.inline_bytes_max = kSimulatedInlineBytes;
  settings.body_leaf_bytes = kSimulatedLeafBytes;
  settings.linearizable_reads = scenario.linearizable_reads;
  settings.tentative_execution = scenario.replica.tentative_execution;
  return settings;
}

}  // namespace

ClientHost::ClientHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
                       Checker& checker, Send send)
    : scenario_(scenario),
      self_(keys.self()),
      scheduler_(scheduler),
      checker_(checker),
      send_(std::move(send)),
      clock_(clock_of(scenario, keys.self())),
      keys_(&keys),
      client_(new_process({})) {}

// Timestamps begin with the microseconds of the wall clock, as a sketcher's do.
std::unique_ptr<pbft::Client> ClientHost::new_process(Duration clock_is_off) const {
  constexpr std::int64_t kMicrosecondsAtStart = 1'000'000'000;
  const Duration shown = scheduler_.now().time_since_epoch() + clock_is_off;
  pbft::ClientSettings settings = settings_of(scenario_);
  settings.first_timestamp = static_cast<std::uint64_t>(
      kMicrosecondsAtStart + std::chrono::duration_cast<microseconds>(shown).count());
  return std::make_unique<pbft::Client>(settings, *keys_,
                                        client_rule(scenario_.canary, scenario_.faults));
}

// Nobody learns the answers to its calls, which may be executed for all that.
void ClientHost::restart(Duration clock_is_off) {
  ++process_;
  open_.clear();
  client_ = new_process(clock_is_off);
  // A process that was set back went on with timestamps ahead of the clock; the next one as well
  // finds that they are taken.
  was_set_back_ |= clock_is_off < Duration{};
  if (was_set_back_) may_fail_ += kFailuresOfSession * scenario_.sessions;
}

void ClientHost::take_keys(const pbft::KeyRing& keys) {
  keys_ = &keys;
  restart({});
}

void ClientHost::start() {
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.node != self_) continue;
    if (ingredient.kind == IngredientKind::calls) plan(ingredient);
    if (ingredient.kind == IngredientKind::client_restart) {
      scheduler_.at(ingredient.from, [this, &ingredient] { restart(ingredient.offset); });
    }
  }
}

void ClientHost::plan(const Ingredient& calls) {
  Random random(scenario_.seed, kPurposeIngredient + calls.number);
  const auto length = std::chrono::duration_cast<microseconds>(calls.until - calls.from).count();
  for (std::uint32_t i = 0; i < calls.count; ++i) {
    const TimePoint time =
        calls.from + microseconds(random.below(static_cast<std::uint64_t>(length)));
    Call call;
    call.client = self_;
    call.operation.append = random.chance(scenario_.append_percent);
    call.operation.key = static_cast<std::uint8_t>(random.below(3));
    call.operation.id =
        (std::uint64_t{self_} << 32) | (std::uint64_t{calls.number} << 16) | (i + 1);
    const bool frees = call.operation.id % 6 == 0 && scenario_.has(IngredientKind::full_states);
    call.operation.frees = call.operation.append && frees;
    const bool large = random.chance(scenario_.percent_of(IngredientKind::large_results, time));
    const std::uint64_t size = random.below(2000);
    if (large) call.operation.result_size = static_cast<std::uint16_t>(size);
    const bool by_digest =
        random.chance(scenario_.percent_of(IngredientKind::large_operations, time));
    const std::uint64_t padding = random.between(1, kSimulatedPaddingMax);
    if (by_digest) call.operation.padding = static_cast<std::uint16_t>(padding);
    const bool read_only = random.chance(scenario_.read_only_percent);
    if (read_only && !call.operation.append) call.kind = pbft::CallKind::read_only;
    call.impatient = random.chance(scenario_.percent_of(IngredientKind::impatience, time));
    const Duration patience = milliseconds(random.below(200));
    const bool cancels = random.chance(50);
    const Duration cancelled_after = milliseconds(random.below(100));
    ++planned_;
    scheduler_.at(time, [this, call, patience, cancels, cancelled_after] {
      submit(call, call.impatient ? patience : Duration(seconds(600)),
             call.impatient && cancels ? cancelled_after : Duration::max());
    });
  }
}

void ClientHost::submit(Call call, Duration patience, Duration cancelled_after) {
  ++submitted_;
  call.submitted = scheduler_.now();
  checker_.on_submitted(call);
  const bool is_sent_at_once = open_.size() < scenario_.sessions;
  pbft::ClientActions actions;
  call.id = client_->submit(encode(call.operation), call.kind, now() + patience, now(), actions);
  open_.emplace(call.id, call);
  if (is_sent_at_once && call.kind == pbft::CallKind::ordered && call.operation.padding == 0) {
    scheduler_.after(scenario_.delay_max, [this, id = call.id, process = process_] {
      const auto open = open_.find(id);
      if (process == process_ && open != open_.end()) checker_.on_arrived(open->second);
    });
  }
  if (cancelled_after != Duration::max()) {
    scheduler_.after(cancelled_after, [this, id = call.id, process = process_] {
      if (process != process_ || open_.erase(id) == 0) return;
      pbft::ClientActions cancelled;
      client_->cancel(id, now(), cancelled);
      carry_out(cancelled);
    });
  }
  carry_out(actions);
}

void ClientHost::on_frame(ByteView frame) {
  pbft::ClientActions actions;
  client_->on_frame(frame, now(), actions);
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
    if (completion.outcome == pbft::CallOutcome::agreed) ++agreed_;
    if (completion.outcome == pbft::CallOutcome::no_agreement && may_fail_ > 0) {
      --may_fail_;
    } else {
      checker_.on_completed(call->second, completion);
    }
    checker_.on_waited(call->second, scheduler_.now() - call->second.submitted);
    open_.erase(call);
  }
  for (const pbft::Refuted& refuted : actions.refuted)
    checker_.on_refuted(refuted.replica);
  for (const pbft::Outgoing& outgoing : actions.sends) {
    send_(self_, outgoing, {});
  }
  arm();
}

void ClientHost::arm() {
  const TimePoint shown = client_->next_timer();
  if (shown == TimePoint::max()) return;
  const TimePoint wanted = clock_.when_it_shows(shown);
  if (wanted >= armed_for_) return;
  armed_for_ = std::max(wanted, scheduler_.now());
  scheduler_.at(armed_for_, [this, time = armed_for_] {
    if (armed_for_ != time) return;
    armed_for_ = TimePoint::max();
    pbft::ClientActions actions;
    client_->on_tick(now(), actions);
    carry_out(actions);
  });
}

}  // namespace prophecy::simulation

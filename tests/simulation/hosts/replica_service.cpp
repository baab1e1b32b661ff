// ReplicaHost: its service, what it does with it, and what befalls it.
#include <algorithm>
#include <utility>

#include "pbft/core/state/memory_part_store.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/sealed.hpp"
#include "simulation/hosts/defects.hpp"
#include "simulation/hosts/origin_faults.hpp"
#include "simulation/hosts/replica_host.hpp"

namespace prophecy::simulation {
namespace {

// What a correct group may agree on, before any of its clocks: it was near one of them.
constexpr std::uint64_t kTimeAheadMax = 5'000'000'000 + 2 * 700'000'000 + 2'000'000'000;
// After its time a slow service has ended what it began by then.
constexpr Duration kSlowServiceLonger = seconds(3);

// One that is to be read is. Nothing where the disk has lost some of it since it was handed out.
std::optional<pbft::Execution> in_memory(const pbft::Execution& execution) {
  if (!execution.whole) return execution;
  pbft::Execution all = execution;
  std::string text(execution.whole->size(), '\0');
  if (!execution.whole->read(0, text)) return std::nullopt;
  all.storage = std::make_shared<const Bytes>(to_bytes(text));
  all.operation = *all.storage;
  return all;
}

}  // namespace

// Snapshots and restores come when nothing is executed, so they may overtake what waits for the
// disk: nothing of it touches the service.
void ReplicaHost::answer(const pbft::ReplicaActions& actions) {
  const auto delay = [&] { return microseconds(random_.between(10, 5000)); };
  if (actions.resume) resume(*actions.resume);
  if (actions.snapshot) {
    const bool is_checkpoint = process_->behind == Process::Behind::nothing;
    later(delay(), [this, is_checkpoint] {
      const std::uint64_t executed = status_.last_executed;
      if (is_checkpoint) note_size(executed);
      // Writes end before it comes to that: a group without a state has none to restart from.
      const bool is_large = is_too_large(scenario_, self_, executed, service_.size());
      if (is_large && status_.answers && !contains(scenario_.liars(), self_)) {
        checker_.fail("the state of replica " + std::to_string(self_) + " behind batch " +
                      std::to_string(executed) + " is too large to be told");
      }
      if (is_large || befalls(IngredientKind::untold_states) || is_state_away()) {
        return with_core(
            [&](pbft::ReplicaActions& more) { process_->replica.on_snapshot({}, now(), more); });
      }
      const pbft::Digest root = service_.keep_state(disk_.parts());
      if (is_checkpoint) checker_.on_state(self_, executed, root);
      if (is_checkpoint) told_at_ = executed;
      with_core(
          [&](pbft::ReplicaActions& more) { process_->replica.on_snapshot(root, now(), more); });
    });
  }
  if (actions.restore) {
    later(delay(), [this, restore = *actions.restore] {
      const bool is_untold = befalls(IngredientKind::untold_states) != nullptr || is_state_away();
      const bool done = is_untold ? scenario_.canary == Canary::pretends_restores
                                  : service_.restore_from(disk_.parts(), restore.service);
      pbft::MemoryPartStore found;
      if (done && service_.keep_state(found) != restore.service) {
        checker_.fail("replica " + std::to_string(self_) +
                      " is said to be restored to the state behind batch " +
                      std::to_string(restore.sequence) + ", and is not in it");
      }
      if (done) note_size(restore.sequence);
      if (done && !std::exchange(process_->repeats, false)) ++restores_;
      if (done) process_->behind = Process::Behind::nothing;
      if (done && process_->trust == Process::Trust::returned) {
        process_->trust = Process::Trust::trusted;
      }
      with_core([&](pbft::ReplicaActions& more) {
        const std::uint64_t before = process_->replica.counters().states_restored;
        const bool is_at_beginning =
            !process_->has_executed && process_->replica.status().last_executed == 0;
        process_->replica.on_restored(done, now(), more);
        const bool is_taken = process_->replica.counters().states_restored > before;
        // When it has been lost once more meanwhile, the replica stays where it was, and its
        // service has gone back; and one that has just been started goes on from the beginning, for
        // the sake of the order.
        if (is_taken) checker_.on_restored(self_, restore.sequence);
        if (is_taken) process_->lacks_writes = false;
        is_astray_ = !is_taken && (is_astray_ || (done && !is_at_beginning));
        if (!is_taken && is_at_beginning) checker_.on_restored(self_, 0);
      });
    });
  }
}

// The service takes an operation of the order in at once, and answers later. A read outside the
// order happens whenever it happens.
void ReplicaHost::run(const pbft::Execution& handed_out) {
  process_->has_executed = process_->has_executed || !handed_out.read_only;
  if (!handed_out.read_only && process_->behind != Process::Behind::nothing) {
    if (process_->behind == Process::Behind::uncertain) {
      process_->waiting.push_back(handed_out);
    } else {
      later(microseconds(10), [this, id = handed_out.id] { finish(id, true, {}); });
    }
    return;
  }
  if (is_service_away_ || process_->trust != Process::Trust::trusted) {
    return give_nothing(handed_out);
  }
  const auto whole = in_memory(handed_out);
  if (!whole) return cut_short(handed_out);
  const pbft::Execution& execution = *whole;
  if (!is_astray_) checker_.on_handed_out(self_, execution);
  if (!execution.read_only && execution.input.time > inputs_.true_time() + kTimeAheadMax) {
    checker_.fail("replica " + std::to_string(self_) + " executes at a time that is far ahead");
  }
  const auto traits = service_.traits_of(execution.operation);
  Duration delay = microseconds(random_.between(10, 3000));
  if (random_.chance(3)) delay += milliseconds(random_.below(60));
  const bool fails = traits && traits->is_read && fails_reads_ && random_.chance(50);
  if (execution.read_only) {
    later(delay, [this, fails, execution] {
      finish(execution.id, fails, service_.execute(execution, {}));
    });
    return;
  }
  if (scenario_.canary == Canary::double_execution && self_ == 1 && traits &&
      traits->number % 5 == 0) {
    checker_.on_handed_out(self_, execution);
  }
  delay = in_turn(delay, traits ? traits->number : 0);
  if (traits && !traits->is_read) {
    if (refuse_write(execution, *traits, delay) || fail_write(execution, *traits, delay)) return;
  }
  const HostedService::Noise noise = traits ? noise_in(*traits, execution) : HostedService::Noise{};
  std::optional<Bytes> result = service_.execute(execution, noise);
  if (execution.id == 0) return;  // repeated by a defect, see with_repeated()
  later(delay, [this, id = execution.id, fails, result = std::move(result)] {
    finish(id, fails, result);
  });
}

void ReplicaHost::note_own_checkpoints(const pbft::ReplicaActions& actions) {
  for (const pbft::Outgoing& outgoing : actions.sends) {
    const auto sealed = pbft::decode_sealed(*outgoing.frame, keys_->replicas());
    const auto header = sealed ? pbft::peek_header(sealed->frame) : std::nullopt;
    if (!header || header->type != pbft::MessageType::checkpoint || header->sender != self_) {
      continue;
    }
    const auto claim = pbft::decode_checkpoint(sealed->frame);
    if (claim) checker_.on_checkpoint(claim->sequence);
  }
}

void ReplicaHost::note_size(std::uint64_t checkpoint) {
  process_->is_full = is_full(scenario_, self_, checkpoint, service_.size());
  checker_.on_checkpoint(checkpoint);
}

bool ReplicaHost::refuse_write(const pbft::Execution& execution,
                               const HostedService::Traits& traits, Duration delay) {
  const bool refuses = process_->is_full && !traits.frees && scenario_.canary != Canary::overfills;
  // On a state that is going to be replaced, nobody is told.
  const bool counts = !is_astray_ && status_.answers;
  if (!traits.frees && counts) checker_.on_write(self_, execution, refuses);
  if (!refuses) return false;
  const Ingredient* full = scenario_.find(IngredientKind::full_states, self_);
  if (full != nullptr && full->fills_alone()) {
    differed_at_ = std::max(differed_at_, execution.sigma >> 16);
  }
  if (execution.id == 0) return true;
  later(delay, [this, id = execution.id] { finish(id, false, service_.full_result()); });
  return true;
}

bool ReplicaHost::fail_write(const pbft::Execution& execution, const HostedService::Traits& traits,
                             Duration delay) {
  const auto fault = write_fault(scenario_, self_, traits.number);
  if (execution.id == 0 || !fault) return false;
  const std::uint32_t times = ++executions_[traits.number];
  check_executions(traits);
  if (fault->times != 0 && times > fault->times) return false;
  const bool is_late = scenario_.canary == Canary::late_handlers;
  if (fault->has_effect && !is_late) (void)service_.execute(execution, {});
  if (is_late) {
    later(delay + fault->settles_in + milliseconds(random_.below(100)),
          [this, execution] { (void)service_.execute(execution, {}); });
  }
  process_->behind = Process::Behind::uncertain;
  later(delay + fault->settles_in, [this, id = execution.id] {
    with_core([&](pbft::ReplicaActions& actions) {
      const bool repeats = scenario_.canary == Canary::repeats_writes;
      const auto status = repeats ? pbft::ExecutionStatus::lost : pbft::ExecutionStatus::uncertain;
      if (repeats) process_->behind = Process::Behind::given_up;
      if (repeats) process_->repeats = true;
      process_->replica.on_executed(id, status, uncertain_result(), now(), actions);
      if (repeats) process_->replica.on_service_state(false, now(), actions);
    });
    if (scenario_.canary == Canary::repeats_writes) go_on_behind_write();
  });
  return true;
}

// As docs/origin-state.md says: three times, which each process counts anew, and once more for each
// restore that has another reason.
void ReplicaHost::check_executions(const HostedService::Traits& traits) {
  constexpr std::uint64_t kTimesMax = 3;
  const std::uint64_t others = restores_ + process_->replica.counters().batches_undone;
  if (executions_[traits.number] > kTimesMax * (1 + restarts_) + others) {
    checker_.fail("replica " + std::to_string(self_) + " executes a write that crashes for the " +
                  std::to_string(executions_[traits.number]) + "th time");
  }
}

void ReplicaHost::resume(bool goes_on) {
  process_->behind = goes_on ? Process::Behind::nothing : Process::Behind::given_up;
  const std::uint64_t repeats = counters_.writes_repeated;
  process_->repeats = std::exchange(process_->repeats_seen, repeats) < repeats;
  go_on_behind_write();
}

void ReplicaHost::go_on_behind_write() {
  for (const pbft::Execution& execution : std::exchange(process_->waiting, {}))
    run(execution);
}

// A folder is there without its service, the database of a command is not.
bool ReplicaHost::is_state_away() const {
  return is_service_away_ && Random(scenario_.seed, kPurposeAbsence + 1).chance(30);
}

void ReplicaHost::give_nothing(const pbft::Execution& execution) {
  if (execution.id == 0) return;  // repeated by a defect
  const auto traits = service_.traits_of(execution.operation);
  const bool is_read = execution.read_only || (traits && traits->is_read);
  const auto status = is_read ? pbft::ExecutionStatus::unavailable : pbft::ExecutionStatus::lost;
  // Without a read the state is right as well, until a write is missing.
  process_->lacks_writes = process_->lacks_writes || !is_read;
  const bool is_in_order = !execution.read_only && !is_astray_ && !process_->lacks_writes;
  if (is_in_order) checker_.on_handed_out(self_, execution);
  later(microseconds(10), [this, id = execution.id, status] {
    if (is_service_away_ && process_->trust == Process::Trust::trusted) notice_absence();
    with_core([&](pbft::ReplicaActions& actions) {
      process_->replica.on_executed(id, status, {}, now(), actions);
    });
  });
}

// The service has an operation in part, and its state is not to be relied on.
void ReplicaHost::cut_short(const pbft::Execution& execution) {
  if (!disk_.rots()) checker_.fail("a body that is executed is not there");
  is_astray_ = true;
  // Told before the next one is executed.
  with_core([&](pbft::ReplicaActions& actions) {
    process_->replica.on_executed(execution.id, pbft::ExecutionStatus::lost, {}, now(), actions);
  });
  later(microseconds(random_.between(10, 3000)), [this] { service_is_back(); });
}

// The same operations take long everywhere.
Duration ReplicaHost::in_turn(Duration delay, std::uint64_t operation) {
  const Ingredient* slow = befalls(IngredientKind::slow_service);
  const bool is_long =
      slow != nullptr && Random(scenario_.seed, kPurposeMachines + operation).chance(slow->percent);
  if (is_long) {
    free_at_ = std::min(std::max(free_at_, scheduler_.now()) + slow->offset,
                        slow->until + kSlowServiceLonger);
  }
  return std::max(delay, free_at_ + delay - scheduler_.now());
}

const Ingredient* ReplicaHost::befalls(IngredientKind kind) const {
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind == kind && ingredient.is_active(scheduler_.now()) &&
        contains(ingredient.nodes, self_)) {
      return &ingredient;
    }
  }
  return nullptr;
}

std::uint64_t ReplicaHost::noise(IngredientKind kind, std::uint64_t operation) {
  const Ingredient* noisy = befalls(kind);
  if (noisy == nullptr) return 0;
  Random random(scenario_.seed, kPurposeNoise + self_ + (operation << 8));
  return random.chance(noisy->percent) ? random.next() | 1 : 0;
}

HostedService::Noise ReplicaHost::noise_in(const HostedService::Traits& traits,
                                           const pbft::Execution& execution) {
  HostedService::Noise noisy;
  if (!traits.is_read) noisy.state = noise(IngredientKind::noisy_state, traits.number);
  if (noisy.state != 0) differed_at_ = std::max(differed_at_, execution.sigma >> 16);
  noisy.answer = noise(IngredientKind::noisy_answers, traits.number);
  return noisy;
}

void ReplicaHost::finish(std::uint64_t id, bool fails, std::optional<Bytes> result) {
  const bool is_done = result && !fails;
  const auto status = is_done ? pbft::ExecutionStatus::done : pbft::ExecutionStatus::unavailable;
  with_core([&](pbft::ReplicaActions& actions) {
    process_->replica.on_executed(id, status, is_done ? std::move(*result) : Bytes{}, now(),
                                  actions);
  });
}

}  // namespace prophecy::simulation

#include "simulation/hosts/replica_host.hpp"

#include <algorithm>
#include <utility>

#include "pbft/wire/frame_header.hpp"
#include "simulation/hosts/defects.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint64_t kWallClockAtStart = 1'000'000;
constexpr std::size_t kHoarded = 256;  // by a defect
constexpr std::uint64_t kEpoch = 1'800'000'000'000'000'000;
// A replica that asks for a time that is over is busy for nothing.
constexpr std::uint32_t kTicksAtOnceMax = 1000;
constexpr Duration kServedLater = milliseconds(40);  // than others, by a defect

// Less than is tolerated. (What a node's own clock shows may be off by much more: it only
// measures.)
Duration clock_skew(NodeId replica) {
  return milliseconds(700) * (replica % 3);
}

pbft::ReplicaSettings settings_of(const Scenario& scenario, NodeId node) {
  pbft::ReplicaSettings settings = scenario.replica;
  settings.tentative_execution &= contains(scenario.ahead, node);
  if (scenario.canary == Canary::slow_to_give_up) settings.view_change_timeout *= 30;
  settings.view_change_timeout_max =
      std::max(settings.view_change_timeout_max, settings.view_change_timeout);
  return settings;
}

}  // namespace

std::uint64_t SimulatedInputs::true_time() const {
  const Duration since_start = scheduler_.now() - TimePoint{};
  return kEpoch + static_cast<std::uint64_t>(
                      std::chrono::duration_cast<std::chrono::nanoseconds>(since_start).count());
}

Duration SimulatedInputs::step() const {
  Duration step{};
  for (const Ingredient& ingredient : scenario_.ingredients) {
    const bool steps = ingredient.kind == IngredientKind::wall_clock && ingredient.node == replica_;
    if (steps && ingredient.is_active(scheduler_.now())) step += ingredient.offset;
  }
  return step;
}

std::uint64_t SimulatedInputs::wall_time() {
  const Duration off = clock_skew(replica_) + step();
  return true_time() + static_cast<std::uint64_t>(
                           std::chrono::duration_cast<std::chrono::nanoseconds>(off).count());
}

pbft::Seed SimulatedInputs::fresh_seed() {
  pbft::Seed seed;
  for (auto& byte : seed)
    byte = static_cast<std::uint8_t>(random_.next());
  return seed;
}

ReplicaHost::Process::Process(const Scenario& scenario, const pbft::KeyRing& keys,
                              pbft::PartStore& parts, pbft::InputSource& inputs,
                              pbft::Outbox::Commit commit, std::function<void()> on_released)
    : replica(settings_of(scenario, keys.self()), keys, parts, inputs,
              replica_rule(scenario.canary, scenario.faults)),
      outbox(std::move(commit),
             [on_released = std::move(on_released)](const Result<>&) { on_released(); }) {}

ReplicaHost::ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
                         Checker& checker, Lies& lies, HostedService& service, Send send)
    : scenario_(scenario),
      keys_(&keys),
      self_(keys.self()),
      scheduler_(scheduler),
      random_(scenario.seed, kPurposeNode + keys.self()),
      checker_(checker),
      lies_(lies),
      send_(std::move(send)),
      clock_(clock_of(scenario, keys.self())),
      inputs_(scenario, keys.self(), scheduler, random_),
      disk_(scenario, keys.self(), scheduler),
      service_(service),
      misconduct_(scenario, keys, lies),
      prices_(scenario, checker, keys.self()) {
  for (const Ingredient& ingredient : scenario.ingredients) {
    const bool reads = ingredient.kind == IngredientKind::read_failures;
    if (reads && contains(ingredient.nodes, self_)) fails_reads_ = true;
  }
}

void ReplicaHost::start() {
  if (const std::string missing = disk_.missing(keys_->replicas()); !missing.empty()) {
    checker_.fail("the disk of replica " + std::to_string(self_) + " lacks " + missing);
  }
  checker_.on_started(self_);
  disk_.open();
  {
    const MemoryUser user = prices_.use_memory();
    process_ = std::make_shared<Process>(
        scenario_, *keys_, disk_.parts(), inputs_,
        [this](std::vector<pbft::DurableWrite> writes, pbft::Outbox::Committed done) {
          disk_.commit(std::move(writes), [done = std::move(done)] { done({}); });
        },
        [this] { when_running([this] { release(); }); });
  }
  pbft::ReplicaStart start;
  start.records = disk_.records();
  const bool is_defect = scenario_.canary == Canary::forgets_at_once;
  if (disk_.is_lost() && !is_defect) start.memory = pbft::ReplicaStart::Memory::lost;
  const Duration shown = now().time_since_epoch() + inputs_.step();
  const auto ms = std::chrono::duration_cast<milliseconds>(shown).count();
  start.wall_clock = kWallClockAtStart + static_cast<std::uint64_t>(ms);
  free_at_ = {};
  halted_at_.reset();
  with_core([&](pbft::ReplicaActions& actions) {
    if (!process_->replica.start(start, now(), actions)) checker_.fail("a journal is not readable");
    disk_.parts().sweep();
    is_astray_ = disk_.rots() && !actions.restore;
  });
}

void ReplicaHost::crash(bool power_loss) {
  if (crashed()) return;
  disk_.crash(power_loss);
  prices_.forget();
  taken_.clear();
  looks_at_all_ = 0;
  process_.reset();
}

void ReplicaHost::restart() {
  if (!crashed()) return;
  ++restarts_;
  start();
}

void ReplicaHost::take_keys(const pbft::KeyRing& keys) {
  keys_ = &keys;
  has_later_keys_ = true;
}

void ReplicaHost::lose_disk() {
  disk_.lose_everything();
  status_.silent_until = UINT64_MAX;  // until it has started
}

void ReplicaHost::lose_service() {
  service_.lose_state();
  is_service_away_ = true;
  if (!crashed()) notice_absence();
}

void ReplicaHost::notice_absence() {
  process_->trust = Process::Trust::away;
  with_core([&](pbft::ReplicaActions& actions) {
    process_->replica.on_service_state(true, now(), actions);
  });
}

void ReplicaHost::service_returns() {
  is_service_away_ = false;
  if (!crashed() && process_->trust == Process::Trust::away) service_is_back();
}

void ReplicaHost::rot() {
  if (service_.rot(Random(scenario_.seed, kPurposeNoise + self_).next() | 1)) {
    differed_at_ = std::max(differed_at_, status_.last_executed);
  }
}

void ReplicaHost::service_is_back() {
  if (crashed()) return;
  when_running([this] {
    if (process_->trust == Process::Trust::away) process_->trust = Process::Trust::returned;
    with_core([&](pbft::ReplicaActions& actions) {
      process_->replica.on_service_state(false, now(), actions);
    });
  });
}

void ReplicaHost::peer_is_gone(NodeId peer) {
  if (crashed()) return;
  when_running([this, peer] {
    with_core([&](pbft::ReplicaActions& actions) {
      process_->replica.on_peer_gone(peer, now(), actions);
    });
  });
}

void ReplicaHost::later(Duration delay, std::function<void()> what) {
  scheduler_.after(delay, [this, process = Handle(process_), what = std::move(what)]() mutable {
    if (!process.expired()) when_running(std::move(what));
  });
}

bool ReplicaHost::is_halted() {
  if (befalls(IngredientKind::halted) != nullptr) {
    if (!halted_at_) halted_at_ = now();
    return true;
  }
  const auto halted_at = std::exchange(halted_at_, std::nullopt);
  if (halted_at && scenario_.canary == Canary::counts_halts) pretend_to_have_run(*halted_at);
  return false;
}

void ReplicaHost::when_running(std::function<void()> what) {
  if (!is_halted()) return what();
  later(befalls(IngredientKind::halted)->until - scheduler_.now(), std::move(what));
}

void ReplicaHost::pretend_to_have_run(TimePoint from) {
  for (TimePoint time = from; time < now(); time += milliseconds(10)) {
    with_core(
        [&](pbft::ReplicaActions& actions) { process_->replica.propose_waiting(time, actions); });
  }
}

bool ReplicaHost::hears(const pbft::Frame& frame) {
  return !crashed() && misconduct_.receive(frame, scheduler_.now());
}

void ReplicaHost::on_frame(const pbft::Frame& frame, Speaker speaker) {
  if (!hears(frame)) return;
  if (is_halted()) return when_running([this, frame, speaker] { read(frame, speaker); });
  read(frame, speaker);
}

void ReplicaHost::read(const pbft::Frame& frame, Speaker speaker) {
  if (is_limited_by_name(*frame) || bears_grudge(frame)) return;
  if (scenario_.canary == Canary::serves_last && is_of_correct_client(scenario_, *frame)) {
    return later(kServedLater, [this, frame, speaker] {
      with_core([&](pbft::ReplicaActions& actions) {
        take(frame, speaker, actions);
        process_->replica.propose_waiting(now(), actions);
      });
    });
  }
  if (const Ingredient* turns = befalls(IngredientKind::many_at_once)) {
    auto& arrived = process_->arrived;
    arrived.emplace_back(frame, speaker);
    if (arrived.size() > 1) return;
    const auto longest = std::chrono::duration_cast<microseconds>(turns->offset).count();
    return later(microseconds(random_.below(static_cast<std::uint64_t>(longest))),
                 [this] { end_turn(); });
  }
  with_core([&](pbft::ReplicaActions& actions) {
    take(frame, speaker, actions);
    process_->replica.propose_waiting(now(), actions);
  });
}

bool ReplicaHost::bears_grudge(const pbft::Frame& frame) {
  const auto header = pbft::peek_header(*frame);
  if (scenario_.canary != Canary::bears_grudges || !header) return false;
  if (lies_.kind_of(frame)) grudges_.insert(header->sender);
  return grudges_.contains(header->sender);
}

void ReplicaHost::end_turn() {
  with_core([&](pbft::ReplicaActions& actions) {
    for (const auto& [frame, speaker] : std::exchange(process_->arrived, {}))
      take(frame, speaker, actions);
    if (scenario_.canary == Canary::ends_no_turn) return;
    process_->replica.propose_waiting(now(), actions);
  });
}

void ReplicaHost::take(const pbft::Frame& frame, Speaker speaker, pbft::ReplicaActions& actions) {
  // Once it has the later keys, who has the old one is a stranger to it.
  const bool is_member =
      speaker == Speaker::member || (speaker == Speaker::thief && !has_later_keys_);
  prices_.begin_step(is_member ? Prices::Cause::member : Prices::Cause::stranger);
  const bool authentic = process_->replica.take_frame(*frame, now(), actions);
  if (speaker == Speaker::thief && !is_member && authentic) {
    checker_.fail("replica " + std::to_string(self_) + " takes a frame under a replaced key");
  }
  if (authentic && is_new_here(*frame)) prices_.set_cause(Prices::Cause::member);
  if (const auto lie = lies_.kind_of(frame)) count_lie(*lie, frame, authentic);
  if (scenario_.canary == Canary::pays_for_strangers) check_signature_of(*frame, *keys_);
  if (scenario_.canary == Canary::repeats_replies) repeated_.answer_again(*frame, actions);
  if (scenario_.canary == Canary::hashes_garbage && speaker == Speaker::stranger) {
    hash_again(*frame);
  }
  if (scenario_.canary == Canary::hoards) hoard_.push_back(Bytes(kHoarded));
  if (scenario_.canary == Canary::chatters) pass_on(frame, keys_->replicas(), actions);
  if (scenario_.canary == Canary::looks_at_all) looks_at_all_ += status_.bodies_missing;
  prices_.end_step(actions, looks(), now(), std::exchange(priced_, Prices::asked_for(actions)));
  prices_.begin_step(Prices::Cause::member);
  if (scenario_.canary != Canary::votes_in_left_view) return;
  for (const pbft::Frame& vote : votes_in_left_view(*frame, process_->replica.status(), *keys_)) {
    for (NodeId to = 0; to < keys_->replicas(); ++to)
      actions.sends.push_back({to, 0, vote});
  }
}

// A member has made it for this replica, which pays for it once, whoever brings it first.
bool ReplicaHost::is_new_here(ByteView frame) {
  if (!scenario_.has(IngredientKind::strangers)) return false;
  return taken_.insert(std::hash<std::string_view>()(as_text(frame))).second;
}

bool ReplicaHost::is_limited_by_name(ByteView frame) {
  if (scenario_.canary != Canary::limits_by_name) return false;
  const auto name = named_in_view_change(frame, keys_->replicas());
  if (!name) return false;
  const auto last = limited_at_.find(*name);
  if (last != limited_at_.end() && scheduler_.now() - last->second < seconds(1)) return true;
  limited_at_[*name] = scheduler_.now();
  return false;
}

// As status_ and counters_ still are: before the frame.
void ReplicaHost::count_lie(BehaviourKind kind, const pbft::Frame& frame, bool authentic) {
  const auto header = pbft::peek_header(*opened(frame, keys_->replicas()));
  if (!misconduct_.is_none() || !header) return;
  bool has_reached = authentic;
  if (header->type == pbft::MessageType::pledge) {
    has_reached = authentic && status_.silent_until == UINT64_MAX;  // it asks
  } else if (header->type == pbft::MessageType::part) {
    has_reached = status_.parts_missing + status_.bodies_missing > 0;
  } else if (header->type == pbft::MessageType::forward) {
    has_reached = process_->replica.counters().dropped == counters_.dropped;
  }
  if (has_reached) lies_.count(kind);
}

void ReplicaHost::with_core(const std::function<void(pbft::ReplicaActions&)>& event) {
  pbft::ReplicaActions actions;
  priced_ = {};
  prices_.begin_step(Prices::Cause::member);
  {
    const MemoryUser user = prices_.use_memory();
    event(actions);
  }
  prices_.end_step(actions, looks(), now(), priced_);
  const bool answered = status_.answers;
  process_->replica.read_status(status_);
  counters_ = process_->replica.counters();
  checker_.on_status(self_, status_);
  if (actions.restore && answered) {
    checker_.on_given_up(self_, actions.restore->sequence, actions.restore->service);
  }
  carry_out(actions);
  arm();
}

void ReplicaHost::carry_out(pbft::ReplicaActions& actions) {
  if (scenario_.has(IngredientKind::full_states)) note_own_checkpoints(actions);
  if (scenario_.canary == Canary::no_durable_vote) {
    std::erase_if(actions.writes, [](const pbft::DurableWrite& write) {
      return write.key.front() == 'p' || write.key.front() == 'q';
    });
  }
  if (scenario_.canary == Canary::no_durable_content) {
    std::erase_if(actions.writes,
                  [](const pbft::DurableWrite& write) { return write.key.front() == 'c'; });
  }
  if (scenario_.canary == Canary::erases_nothing) {
    std::erase_if(actions.writes,
                  [](const pbft::DurableWrite& write) { return write.value == nullptr; });
  }
  answer(actions);
  for (const pbft::DurableParts& parts : actions.durable_parts)
    make_durable(parts);
  process_->outbox.put(actions);
  disk_.end_event();
  release();
}

void ReplicaHost::release() {
  pbft::Outbox::Released released;
  if (!process_->outbox.take(released)) return;
  for (const pbft::Outgoing& outgoing : released.sends)
    send(outgoing);
  std::vector<pbft::Execution> executions = std::move(released.executions);
  if (scenario_.canary == Canary::no_session_check) {
    executions = with_repeated(executions, keys_->replicas());
  }
  for (const pbft::Execution& execution : executions)
    run(execution);
  if (released.flush_parts) flush_parts();
}

void ReplicaHost::flush_parts() {
  // Without a first state a replica executes nothing, and waits for its disk.
  const bool refuses = befalls(IngredientKind::refusing_disk) && disk_.has_state();
  // Until the first one, bytes alone bound the record (docs/storage.md).
  const bool has_state = disk_.has_state();
  const auto answer = [this, has_state](bool done) {
    if (has_state) checker_.on_record(self_, disk_.recorded_numbers());
    when_running([this, done] {
      with_core([&](pbft::ReplicaActions& more) {
        process_->replica.on_parts_flushed(done, now(), more);
      });
    });
  };
  if (refuses || scenario_.canary == Canary::early_base) {
    return later(microseconds(random_.between(10, 500)), [answer, refuses] { answer(!refuses); });
  }
  disk_.parts().flush(answer);
}

void ReplicaHost::make_durable(const pbft::DurableParts& parts) {
  const auto answer = [this, id = parts.id](bool done) {
    when_running([this, id, done] {
      with_core([&](pbft::ReplicaActions& more) {
        process_->replica.on_parts_durable(id, done, now(), more);
      });
    });
  };
  if (scenario_.canary == Canary::early_body) {
    return later(microseconds(random_.between(10, 500)), [answer] { answer(true); });
  }
  disk_.parts().make_durable(parts.root, answer);
}

void ReplicaHost::send(const pbft::Outgoing& outgoing) {
  if (crashed()) return;
  if (misconduct_.is_none()) return send_(self_, outgoing, {});
  for (const Sending& sending : misconduct_.send(outgoing, scheduler_.now()))
    send_(self_, sending.what, sending.delay);
}

void ReplicaHost::arm() {
  const TimePoint shown = process_->replica.next_timer();
  if (shown == TimePoint::max()) return;
  const TimePoint wanted = clock_.when_it_shows(shown);
  TimePoint& armed_for = process_->armed_for;
  if (wanted >= armed_for) return;
  armed_for = std::max(wanted, scheduler_.now());
  later(armed_for - scheduler_.now(), [this, time = armed_for] {
    if (process_->armed_for != time) return;
    process_->armed_for = TimePoint::max();
    const bool is_again = std::exchange(process_->ticked_at, scheduler_.now()) == scheduler_.now();
    process_->ticks_at_once = is_again ? process_->ticks_at_once + 1 : 0;
    if (process_->ticks_at_once > kTicksAtOnceMax) {
      checker_.fail("replica " + std::to_string(self_) +
                    " asks for a time that is over, again and again");
      return;
    }
    with_core([&](pbft::ReplicaActions& actions) { process_->replica.on_tick(now(), actions); });
  });
}

}  // namespace prophecy::simulation

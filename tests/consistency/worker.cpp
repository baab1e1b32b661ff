#include "consistency/worker.hpp"

#include <algorithm>
#include <utility>

#include "consistency/origins/bodies.hpp"
#include "consistency/world.hpp"

namespace prophecy::consistency {
namespace {

using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;

// For its clients a budget has reads for a moment, most of which others have had.
constexpr double kReadsASecond = 2;
constexpr std::size_t kReadsLeft = 5;
constexpr std::uint64_t kSlowStepPercent = 5;
constexpr double kShare = 0.05;
constexpr unsigned kPrefixBits = 64;

constexpr std::size_t kLatenciesKnown = 60;  // of each origin
constexpr std::size_t kReadsBefore = 200;

}  // namespace

SimulatedWorker::SimulatedWorker(World& world, std::size_t place)
    : world_(world),
      place_(place),
      born_(world.now()),
      activity_(activity_memory_, {sketcher::VolatilityLimits::of_group(
                                      static_cast<std::uint32_t>(world.settings().origins))}),
      origins_(world.settings().origins),
      core_(parts()),
      reads_{.routes = {{.group = &core_}},
             .large = world.large(),
             .answer_bytes_max = 2 * kBlockBytes,
             .target_bytes_max = 1 << 10},
      confirmed_(world.settings().origins) {
  world.service().begin_worker(place);
  if (world.settings().has_pipelining) {
    links_.emplace(world.service().origins(), world.settings(), world.random(), world.attribution(),
                   world.counted());
  }
  if (world.settings().has_hedges) know_latencies();
  if (world.settings().has_budget) make_budget();
}

SimulatedWorker::~SimulatedWorker() {
  for (const auto& [number, call] : calls_) {
    world_.service().cancel(call->id);
    end_own(*call);
    end_left(number);
  }
  for (const auto& origin : origins_)
    world_.counted().add(Met::noise, origin.noise.get());
}

sketcher::ReadGroupParts SimulatedWorker::parts() {
  const RunSettings& settings = world_.settings();
  return {.table = world_.table(place_),
          .floors = world_.floors(place_),
          .order = world_.order(place_),
          .votes = settings.has_votes ? &world_.service().votes(place_) : nullptr,
          .activity = activity_,
          .profile = world_.profile(),
          .sketch = world_.sketch_function(),
          .health = world_.operators().view(),
          .origins = origins_,
          .faults = static_cast<std::uint32_t>(settings.faults),
          .dice = *this,
          .reports = *this,
          .acceptance = world_.acceptance(place_)};
}

// Reads of before have been answered at once, and have paid for hedges.
void SimulatedWorker::know_latencies() {
  replica_client::HedgePolicy& hedges = core_.group.hedges();
  for (NodeId origin = 0; origin < core_.group.size(); ++origin) {
    for (std::size_t i = 0; i < kLatenciesKnown; ++i)
      hedges.on_latency(origin, milliseconds(1 + i % 3));
  }
  for (std::size_t i = 0; i < kReadsBefore; ++i)
    static_cast<void>(hedges.on_read());
}

void SimulatedWorker::make_budget() {
  using sketcher::SlowPathBudget;
  is_budget_shared_ = world_.random().chance(50);
  sketcher::SlowPathLimits limits{.per_client_second = kReadsASecond};
  if (is_budget_shared_)
    limits = {.share = kShare, .per_second = kReadsASecond, .per_client_second = 0};
  budget_ = std::make_unique<SlowPathBudget>(limits, kPrefixBits, 1);
  const auto burst =
      static_cast<std::size_t>(is_budget_shared_ ? SlowPathBudget::kBurst : limits.client_burst());
  for (const std::string& address : world_.addresses()) {
    for (std::size_t i = kReadsLeft; i < burst; ++i)
      static_cast<void>(budget_->take(address, born_));
    if (is_budget_shared_) return;
  }
}

std::size_t SimulatedWorker::paid_reads() const {
  const std::size_t paid =
      kReadsLeft + 1 + static_cast<std::size_t>(kReadsASecond) * (whole_seconds() + 1);
  if (!is_budget_shared_) return paid;
  return paid +
         static_cast<std::size_t>(kShare * static_cast<double>(world_.counters().reads.get()));
}

std::uint32_t SimulatedWorker::below(std::uint32_t bound) {
  return static_cast<std::uint32_t>(world_.random().below(bound));
}

void SimulatedWorker::report(sketcher::Divergence& divergence) {
  world_.accusation().on_accused(divergence.replica, divergence.target);
}

void SimulatedWorker::perform(bool is_recorded) {
  sketcher::GroupActions& actions = core_.actions;
  while (!actions.empty()) {
    const sketcher::GroupAction action = std::move(actions.front());
    actions.pop_front();
    carry_out(action, is_recorded);
  }
  check_bounds();
}

void SimulatedWorker::carry_out(const sketcher::GroupAction& action, bool is_recorded) {
  switch (action.kind) {
    case sketcher::GroupAction::Kind::call: {
      // The sketcher's own reads, to judge a confirming one, have no key.
      const bool is_own = action.form->key.empty();
      if (!is_own) ++charged_[action.form->client];
      auto call = std::make_unique<Call>(*this, action.number);
      if (is_own || !is_recorded) call->own = world_.begin_own_read(action.wire);
      const PageRequest request = parse_page_request(action.wire);
      call->is_of_register = request.is_of_register();
      call->key = request.key;
      call->id = world_.service().submit(place_, action.wire, *call);
      numbers_[call->id] = action.number;
      calls_.emplace(action.number, std::move(call));
      return;
    }
    case sketcher::GroupAction::Kind::cancel:
      if (const auto call = calls_.extract(action.number)) {
        end_own(*call.mapped());
        end_left(action.number);
        world_.service().cancel(call.mapped()->id);
      }
      return;
    case sketcher::GroupAction::Kind::confirm:
      return confirm(action);
  }
}

void SimulatedWorker::confirm(const sketcher::GroupAction& action) {
  const NodeId origin = action.confirmation->replica;
  confirmations_.push_back({action.number, origin, action.confirmation->form.wire});
  Confirmed& confirmed = confirmed_[origin];
  ++confirmed.begun;
  ++confirmed.under_way;
  Cost& cost = world_.cost();
  cost.check("confirmations-under-way", confirmed.under_way);
  const std::size_t paid = cost.bound("confirmations-at-once") + whole_seconds() + 1;
  cost.check("confirmations-paid-for", confirmed.begun, paid);
  world_.counted().add(Met::confirmations);
  const bool is_spent =
      confirmed.under_way == cost.bound("confirmations-under-way") || confirmed.begun + 1 >= paid;
  if (is_spent) world_.counted().add(Met::confirmations_spent);
}

std::size_t SimulatedWorker::whole_seconds() const {
  return static_cast<std::size_t>(
      std::chrono::duration_cast<seconds>(world_.now() - born_).count());
}

void SimulatedWorker::check_bounds() {
  Cost& cost = world_.cost();
  const std::size_t calls = core_.shared.calls();
  cost.check("calls-per-worker", calls);
  if (calls >= sketcher::SharedReads::kUnwaitedMax) world_.counted().add(Met::unwaited_full);
  if (world_.settings().has_hedges) world_.check_hedges();
  if (!budget_) return;
  std::size_t all = 0;
  for (const auto& [address, charged] : charged_) {
    all += charged;
    cost.check("calls-per-charge", is_budget_shared_ ? all : charged, paid_reads());
  }
}

void SimulatedWorker::end_own(const Call& call) {
  if (call.own) world_.recorder().end(*call.own, nullptr, world_.instant());
}

void SimulatedWorker::end_with_calls(const OperationId& left) {
  Left waiting{left, {}};
  for (const auto& [number, call] : calls_) {
    if (call->is_of_register && call->key == left.key) waiting.calls.insert(number);
  }
  if (waiting.calls.empty()) return world_.recorder().end(left, nullptr, world_.instant());
  left_.push_back(std::move(waiting));
}

void SimulatedWorker::end_left(std::uint64_t call) {
  std::erase_if(left_, [&](Left& left) {
    left.calls.erase(call);
    if (!left.calls.empty()) return false;
    world_.recorder().end(left.read, nullptr, world_.instant());
    return true;
  });
}

void SimulatedWorker::on_answer(std::uint64_t number, ReplicatedAnswer answer) {
  const auto call = calls_.extract(number);
  core_.shared.on_answer(number, std::move(answer), world_.now());
  end_own(*call.mapped());
  end_left(number);
  perform();
  report_results();
}

void SimulatedWorker::on_failure(std::uint64_t number, ReplicatedFailure failure) {
  const auto call = calls_.extract(number);
  core_.shared.on_failure(number, failure);
  end_own(*call.mapped());
  end_left(number);
  perform();
  report_results();
}

void SimulatedWorker::report_results() {
  if (std::exchange(is_reporting_, true)) return;
  while (const auto result = core_.shared.take_result())
    result->waiter->on_shared_result(*result);
  is_reporting_ = false;
}

bool SimulatedWorker::on_refuted(const replica_client::Refutation& vote) {
  const auto found = numbers_.find(vote.call);
  if (found == numbers_.end()) return false;
  core_.shared.on_refuted(found->second, vote);
  perform();
  return true;
}

void SimulatedWorker::on_other_refuted(const replica_client::Refutation& vote) {
  core_.shared.on_refuted(0, vote);
  perform();
}

void SimulatedWorker::on_strong_agreement(std::uint64_t call) {
  const auto found = numbers_.find(call);
  if (found == numbers_.end()) return;
  core_.shared.on_strong_agreement(found->second, world_.now());
  perform();
}

void SimulatedWorker::advance() {
  if (confirmations_.empty()) return;
  const bool is_slow = world_.settings().has_slow_confirmations && world_.failing_percent() > 0;
  if (is_slow && !world_.random().chance(kSlowStepPercent)) return;
  const std::size_t chosen = world_.random().below(confirmations_.size());
  const Confirming confirming = confirmations_[chosen];
  confirmations_.erase(confirmations_.begin() + static_cast<std::ptrdiff_t>(chosen));
  --confirmed_[confirming.origin].under_way;
  OriginStream stream(world_.service().origins(), world_.random());
  stream.start(confirming.origin, confirming.wire, {}, nullptr, world_.now());
  const auto event = stream.advance(world_.failing_percent(), world_.now());
  const bool is_answered = event == OriginStream::Event::answered;
  core_.shared.on_confirmed(confirming.number,
                            is_answered ? http::ExchangeEnd::answered : stream.end(),
                            is_answered ? stream.response() : http::Response{}, world_.now());
  perform();
}

}  // namespace prophecy::consistency

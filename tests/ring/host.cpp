#include "ring/host.hpp"

#include <utility>

#include "ring/world.hpp"

namespace prophecy::ring {

namespace {

constexpr std::size_t kWorkers = 2;
constexpr std::int64_t kMillion = 1'000'000;

dht::Parameters ring_parameters(const RunSettings& settings) {
  return {.cluster = "site",
          .digest = "sha1",
          .secret = "s",
          .profile = "p",
          .lease = kLease,
          .group_only = settings.group_only};
}

}  // namespace

Host::Host(World& world, std::string name, dht::Instance instance, std::uint32_t weight,
           Clock& clock, std::shared_ptr<Table> table, dht::AgreedSettings known)
    : world_(world),
      clock_(clock),
      words_(world.layout().partitions + dht::Permissions::kExtraWords),
      permissions_(words_),
      table_(std::move(table)),
      process_(world.scheduler(), world.random()),
      touched_(world.layout().partitions),
      carried_out_(known),
      agreed_at_first_(world.settings_oracle().committed().number) {
  for (std::size_t i = 0; i < kWorkers; ++i)
    workers_.push_back(std::make_unique<Worker>(world, *this));
  dht::RingSettings settings;
  settings.parameters = ring_parameters(world.settings());
  settings.self.holder = {std::move(name), instance, weight};
  // Half of the processes are of the next build: a member that restarts may be exchanged for one.
  settings.self.steps.newest = 1 + static_cast<dht::Step>(instance & 1);
  settings.clocks.drift_ppm = world.settings().drift_ppm;
  settings.clocks.grain = milliseconds(1);
  node_ = std::make_unique<dht::RingNode>(
      std::move(settings), dht::KnownSettings{dht::SettingsCodec::Key{7}, std::move(known)},
      permissions_, *table_, milliseconds(300), now());
  client_ = world_.zookeeper().open(
      {.on_session =
           [this](SessionEvent event) {
             on_event([this, event] { node_->on_session(event, now()); });
           },
       .on_result =
           [this](CoordinationResult result) {
             if (result.status == CoordinationStatus::unknown)
               world_.tally().add(Met::unknown_calls);
             on_event([this, result = std::move(result)] { node_->on_result(result, now()); });
           }});
  plan_tick();
}

Host::~Host() {
  world_.zookeeper().close(client_);
}

dht::BootTime Host::now() const {
  const Duration real = world_.scheduler().now().time_since_epoch() - clock_.hidden;
  Duration shown = real + real / kMillion * clock_.rate_ppm + clock_.ahead;
  if (world_.is_broken(Broken::wall_clock)) shown += clock_.wall;
  return dht::BootTime(shown);
}

// When the clock shows that time, or a little later.
TimePoint Host::real_time(dht::BootTime time) const {
  Duration shown = time.time_since_epoch() - clock_.ahead;
  if (world_.is_broken(Broken::wall_clock)) shown -= clock_.wall;
  const Duration real = shown / (kMillion + clock_.rate_ppm) * kMillion + clock_.hidden;
  return TimePoint(real) + milliseconds(2);
}

// ---- The ring's process.

void Host::on_event(std::function<void()> event) {
  process_.post([this, event = std::move(event)] {
    event();
    carry_out();
  });
}

void Host::carry_out() {
  while (auto action = node_->take_action(now()))
    carry_out(std::move(*action));
  const dht::ViewNumber adopted = ring().ownership().adopted();
  if (adopted_ != 0 && adopted > adopted_ + 1) world_.tally().add(Met::skipped_views);
  if (adopted > adopted_) world_.tally().add(Met::views);
  if (adopted > adopted_) {
    const bool is_newer_step = ring().view() != nullptr && ring().view()->step > 1;
    world_.tally().add(is_newer_step ? Met::newer_steps : Met::older_steps);
    adopted_at_ = world_.scheduler().now();
    world_.trace(self().name + " adopts view " + std::to_string(adopted));
  }
  adopted_ = adopted;
  plan_tick();
}

// What it has brought, if it counts now.
void Host::check_page(const dht::HandOverPage& page) {
  const Partition partition = page.partition;
  const bool is_owner = permissions_.may_accept(partition, permissions_.owner(partition),
                                                dht::Basis::history, [this] { return now(); });
  if (!is_owner) return;
  for (const dht::HandedEntry& handed : page.entries) {
    const Register at = handed.tag[0];
    const auto entry = table_->look_up(at);
    if (entry && entry->was_handed) world_.check_handed(*this, at, *entry);
  }
}

void Host::plan_tick() {
  const dht::BootTime next = node_->deadline();
  if (next == dht::BootTime::max()) return;
  const TimePoint soon = world_.scheduler().now() + milliseconds(1);
  const TimePoint time = next <= now() ? soon : std::max(real_time(next), soon);
  world_.scheduler().at(time, [this, tick = ++ticks_, alive = alive()] {
    if (alive.expired() || tick != ticks_) return;
    on_event([this] { node_->on_tick(now()); });
  });
}

void Host::after_turns(const std::function<void()>& then) {
  const auto left = std::make_shared<std::size_t>(workers_.size());
  for (const auto& worker : workers_) {
    worker->process().after_turn([left, then] {
      if (--*left == 0) then();
    });
  }
}

void Host::carry_out(dht::RingNodeAction action) {
  if (const auto* const call = std::get_if<CoordinationCall>(&action))
    return world_.zookeeper().call(client_, *call);
  if (const auto* const turns = std::get_if<dht::AwaitTurns>(&action)) {
    using Before = dht::AwaitTurns::Before;
    const auto passed = [this, ticket = turns->ticket] {
      on_event([this, ticket] { node_->on_turns(ticket, now()); });
    };
    const Broken hurry =
        turns->before == Before::clearing ? Broken::clears_at_once : Broken::gives_at_once;
    return world_.is_broken(hurry) ? passed() : after_turns(passed);
  }
  if (const auto* const wanted = std::get_if<dht::ClearPartitions>(&action)) return clear(*wanted);
  if (const auto* const barrier = std::get_if<dht::OrderBarrier>(&action))
    return order_barrier(barrier->ticket);
  if (const auto* const send = std::get_if<dht::Taker::Send>(&action)) return ask(*send);
  if (std::holds_alternative<dht::PartitionsTaken>(action)) {
    // (Well before a lease could be over, or not.)
    const bool is_early = world_.scheduler().now() < adopted_at_ + kLease / 2;
    return world_.tally().add(is_early ? Met::takes_by_word : Met::takes_by_lease);
  }
  if (const auto* const adopted = std::get_if<dht::SettingsAdopted>(&action))
    return on_settings(adopted->settings);
  if (const auto* const outcome = std::get_if<dht::SettingsOutcome>(&action))
    return on_outcome(*outcome);
  world_.trace(self().name + " reports " + std::get<dht::RingReport>(action).message);
}

void Host::ask(const dht::Taker::Send& send) {
  world_.send_ask(*this, send.to, send.ask, [this, alive = alive()](const dht::HandOverPage& page) {
    if (alive.expired()) return;
    world_.tally().add(Met::handed_entries, page.entries.size());
    on_event([this, page] {
      node_->on_page(page, now());
      check_page(page);
    });
  });
}

void Host::clear(const dht::ClearPartitions& wanted) {
  for (const Partition partition : wanted.partitions) {
    table_->erase(partition);
    touched_[partition] = world_.instant();
  }
  on_event([this, ticket = wanted.ticket] { node_->on_cleared(ticket, now()); });
}

void Host::order_barrier(std::uint64_t ticket) {
  const dht::ViewNumber view =
      world_.is_broken(Broken::barrier_without_view) ? 0 : permissions_.view();
  world_.ask_group([&group = world_.group(), view] { return group.barrier(view); },
                   [this, ticket, alive = alive()](Group::Answer answer) {
                     if (alive.expired()) return;
                     const bool is_lost = world_.random().chance(3) && !world_.is_calm();
                     on_event([this, ticket, is_lost, answer] {
                       if (is_lost || answer.is_refused)
                         return node_->on_barrier(ticket, std::nullopt, now());
                       const bool goes_on = world_.is_broken(Broken::numbers_go_on);
                       node_->on_barrier(ticket, table_->begin_anew(answer.number, goes_on), now());
                     });
                   });
}

void Host::on_ask(const dht::HandOverAsk& ask, const std::string& from,
                  std::function<void(dht::HandOverPage)> answer) {
  on_event([this, ask, from, answer = std::move(answer)] {
    auto page = node_->on_ask(ask, from);
    if (!page) return;
    if (page->status == dht::HandOverPage::Status::page) touched_[ask.partition] = world_.instant();
    answer(std::move(*page));
  });
}

// ---- For workers.

Worker& Host::any_worker() {
  return *workers_[world_.random().below(workers_.size())];
}

void Host::pass_on(const OperationPointer& operation, dht::MemberSlot owner, int hops) {
  // (The workers' list of addresses, by slot.)
  const std::string& name = ring().ownership().slots().name_at(owner);
  world_.send(*this, name,
              [operation, hops](Host& host) { host.any_worker().on_request(operation, hops); });
}

void Host::raise_elsewhere(dht::MemberSlot owner, std::size_t slot, OrderNumber number,
                           std::function<void()> done) {
  const std::string& name = ring().ownership().slots().name_at(owner);
  world_.send(*this, name,
              [this, slot, number, done = std::move(done), alive = alive()](Host& host) {
                host.any_worker().on_raise(slot, number, [this, &host, done, alive] {
                  if (alive.expired()) return;
                  world_.send(host, self().name, [done, alive](Host& /*self*/) {
                    if (!alive.expired()) done();
                  });
                });
              });
}

// ---- What operators set. The master is another process, which takes its time.

void Host::set(const std::string& name, std::string value) {
  dht::SettingsOrder order{.id = ++last_order_, .change = {name, std::move(value)}};
  order.bases = {dht::value_of(carried_out_.values, name)};
  if (const auto last = last_set_.find(name); last != last_set_.end())
    order.bases.push_back(last->second);
  last_set_[name] = order.change.value;
  world_.settings_oracle().on_order(self().instance, order);
  orders_.insert(order.id);
  on_event([this, order] { node_->on_settings_order(order, now()); });
}

void Host::on_settings(const dht::AgreedSettings& settings) {
  const Duration late = milliseconds(world_.random().below(200));
  world_.scheduler().after(late, [this, settings, alive = alive()] {
    if (alive.expired()) return;
    if (settings.number < carried_out_.number) return;
    carried_out_ = settings;
    on_event([this, settings] { node_->on_settings_carried_out(settings.number, now()); });
  });
}

void Host::on_outcome(const dht::SettingsOutcome& outcome) {
  using OutcomeKind = dht::SettingsOutcome::Kind;
  world_.trace(self().name + " ends order " + std::to_string(outcome.id) + ": " + outcome.message);
  if (const auto problem = world_.settings_oracle().on_outcome(self().instance, outcome))
    world_.fail(Oracle::settings, self().name + ": " + *problem);
  if (outcome.kind == OutcomeKind::agreed) world_.tally().add(Met::settings_agreed);
  if (outcome.kind == OutcomeKind::lost) world_.tally().add(Met::settings_lost);
  if (outcome.kind == OutcomeKind::waiting) {
    world_.tally().add(Met::settings_unshared);
  } else {
    orders_.erase(outcome.id);
  }
}

// ---- What happens to it.

void Host::drain() {
  is_draining_ = true;
  on_event([this] { node_->drain(now()); });
}

void Host::rejoin() {
  is_draining_ = false;
  on_event([this] { node_->rejoin(now()); });
}

void Host::stop_all(TimePoint until) {
  process_.stop_until(until);
  for (const auto& worker : workers_)
    worker->process().stop_until(until);
}

void Host::resume() {
  process_.resume();
  for (const auto& worker : workers_)
    worker->process().resume();
}

}  // namespace prophecy::ring

#include "consistency/world.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/config/config.hpp"
#include "consistency/crowd.hpp"
#include "consistency/group/pbft_service.hpp"
#include "consistency/group/simulated_service.hpp"
#include "consistency/origins/mixed_pages.hpp"
#include "sketcher/core/read/history_key.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kSteps = 500;
constexpr std::size_t kLongSteps = 5000;
constexpr std::size_t kFloodedSteps = 8000;
constexpr std::size_t kClients = 5;
constexpr std::uint64_t kFailingPercent = 4;
constexpr std::uint64_t kOutagePercent = 60;
constexpr std::uint64_t kRingStepPercent = 5;
constexpr Sigma kRoomBeforeBarrier = 1000;
constexpr std::uint64_t kCutPercent = 20;
constexpr std::int64_t kJumpMsMax = 24LL * 3600 * 1000;

HistoryTable make_table(std::uint64_t seed) {
  HistoryTable table = std::move(*HistoryTable::create(HistoryTable::kBytesMin, seed));
  table.attach(0);
  return table;
}

sketch::Profile make_profile(const RunSettings& settings) {
  const bool remembers_cookies = settings.variant.world == BrokenWorld::cookies_remembered;
  if (!remembers_cookies && !settings.has_blocks) return {};
  std::string text;
  if (remembers_cookies) text += "remember_set_cookie = true\n";
  if (settings.has_blocks) text += "whole_answer = \"1KiB\"\nanswer_block = \"4KiB\"\n";
  auto file = ConfigFile::parse(text, "profile");
  ASSERT(file.has_value());
  return sketch::Profile::from_config(file->root());
}

}  // namespace

World::World(std::uint64_t seed, const Variant& variant, GroupChoice group, const Bounds& bounds)
    : random_(seed),
      settings_(RunSettings::draw(variant, group, random_)),
      attribution_(breach_),
      accusation_(settings_, breach_, tally_),
      cost_(bounds, breach_),
      operator_(settings_, seed, breach_, tally_),
      profile_(make_profile(settings_)),
      sketch_(sketch::DigestKind::sha1, as_bytes("0123456789abcdef0123456789abcdef"), profile_,
              "group"),
      service_(make_service(seed)),
      recorder_(settings_, service_->origins().states()),
      seed_(seed),
      table_(make_table(seed)),
      failing_percent_(kFailingPercent) {
#ifdef PROPHECY_MUTATIONS
  sketcher::active_mutation = variant.mutation;
  http::late_for_next_mutation = variant.mutation == sketcher::Mutation::late_for_next;
  http::follows_any_mutation = variant.mutation == sketcher::Mutation::follows_any;
  sketcher::former_answers.clear();
#endif
  for (std::size_t i = 0; i < kClients; ++i)
    addresses_.push_back("10.0.0." + std::to_string(settings_.has_few_addresses ? 1 : i + 1));
  if (settings_.has_ring) make_ring();
  for (std::size_t i = 0; i < kWorkers; ++i)
    workers_.push_back(std::make_unique<SimulatedWorker>(*this, i));
  for (std::size_t i = 0; i < kClients; ++i) {
    const bool conspires = settings_.has_accomplice && i == 0;
    const std::string agent = conspires ? std::string(kAccomplice) : "agent-" + std::to_string(i);
    clients_.push_back(std::make_unique<SimulatedClient>(*this, agent, addresses_[i]));
  }
  check_sizes();
  if (settings_.is_flooded) service_->hang();
  if (!settings_.is_busy) return;
  crowd_ = std::make_unique<Crowd>(table_, seed, [this] { return place_other(order_); });
  crowd_->fill();
}

void World::make_ring() {
  static_assert(SimulatedRing::kMembers == kWorkers);
  ring_ = std::make_unique<SimulatedRing>(
      [this] { return make_table(seed_); },
      SimulatedRing::Numbers{
          .barrier = [this](std::size_t member) { return order_barrier(member); },
          .newest = settings_.counts_itself
                        ? std::function([this](std::size_t member) { return newest(member); })
                        : nullptr},
      random_, tally_);
  for (Key key = 0; key < settings_.keys; ++key) {
    ring_->add({.place = floors_.place_of("site", "/" + std::to_string(key)),
                .keys = {key_of(key, false), key_of(key, true)}});
  }
}

Sigma World::newest(std::size_t member) {
  return settings_.has_votes ? service_->votes(member).newest() : order(member).newest();
}

// As OwnNumbers begins anew.
Sigma World::order_barrier(std::size_t member) {
  const Sigma number = settings_.has_votes ? 0 : place_other(order(member));
  if (!settings_.counts_itself) return number;
  const Sigma barrier = newest(member) + kRoomBeforeBarrier;
  if (settings_.has_votes) {
    ASSERT(service_->votes(member).skip_to(barrier, barrier));
  } else {
    order(member).begin_beyond(barrier);
  }
  return barrier;
}

HistoryTable& World::table(std::size_t place) {
  return ring_ ? ring_->member(place).table : table_;
}

WriteFloors World::floors(std::size_t place) {
  return ring_ ? ring_->member(place).floors : floors_;
}

sketcher::SigmaOrder& World::order(std::size_t place) {
  return ring_ ? ring_->member(place).order : order_;
}

const sketcher::Acceptance* World::acceptance(std::size_t place) {
  return ring_ ? &ring_->member(place).acceptance : nullptr;
}

std::unique_ptr<Service> World::make_service(std::uint64_t seed) {
  Service::Listener listener;
  listener.on_refuted = [this](const replica_client::Refutation& vote) {
    const bool is_known = std::any_of(workers_.begin(), workers_.end(),
                                      [&](const auto& worker) { return worker->on_refuted(vote); });
    if (!is_known) workers_.front()->on_other_refuted(vote);
  };
  listener.on_strong = [this](std::uint64_t call) {
    for (const auto& worker : workers_)
      worker->on_strong_agreement(call);
  };
  listener.on_written = [this](const std::string& value) {
    recorder_.note_executed(value, instant_);
  };
  listener.on_violation = [this](const std::string& what) {
    breach_.note(std::string(kGroup) + ": " + what);
  };
  if (settings_.has_agents) {
    return std::make_unique<PbftService>(seed, kWorkers, settings_, profile_, random_,
                                         std::move(listener));
  }
  return std::make_unique<SimulatedService>(settings_, profile_, random_, std::move(listener));
}

World::~World() {
  clients_.clear();
  workers_.clear();
}

Histories World::run() {
  const std::size_t steps = settings_.is_flooded ? kFloodedSteps
                            : settings_.is_long  ? kLongSteps
                                                 : kSteps;
  for (std::size_t i = 0; i < steps && !violation(); ++i) {
    pass_time();
    step();
  }
  if (!violation()) calm_down();
  if (!violation() && settings_.is_tried && !settings_.is_flooded) hold_trial();
  if (!violation() && settings_.has_mixed_pages) MixedPages(seed_, cost_, tally_).run();
  count_all();
  return recorder_.take();
}

void World::pass_time() {
  ++instant_;
  if (!is_clock_still_) ++clock_ms_;
  if (settings_.has_clock_steps && trial_ == Trial::none && random_.chance(1)) {
    tally_.add(Met::clock_steps);
    is_clock_still_ = random_.chance(50);
    if (!is_clock_still_) {
      clock_ms_ += static_cast<std::int64_t>(random_.below(random_.chance(50) ? 2000 : kJumpMsMax));
    }
  }
  if (!settings_.has_outages || failing_percent_ == 0 || !random_.chance(1)) return;
  tally_.add(Met::outages);
  failing_percent_ = failing_percent_ == kOutagePercent ? kFailingPercent : kOutagePercent;
}

void World::step() {
  using Phase = SimulatedClient::Phase;
  operator_.advance(now());
  if (operator_.cut() != 0 && random_.chance(kCutPercent)) {
    return clients_[random_.below(clients_.size())]->cut(operator_.cut());
  }
  if (ring_ && random_.chance(kRingStepPercent)) return ring_->step();
  const std::uint64_t draw = random_.below(200);
  if (draw < 93) return clients_[random_.below(clients_.size())]->advance(Phase::free);
  if (draw < 160) return service_->advance();
  if (draw < 168) return any_worker().advance();
  if (draw < 188) return service_->origins().advance();
  if (draw < 192) return write_past_the_sketcher();
  if (draw < 194) return crowd_out(key_of(random_.below(settings_.keys), false));
  do_something_rare();
}

bool World::is_quiet() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->is_idle(); });
}

void World::calm_down() {
  service_->calm_down();
  operator_.settle();
  if (ring_) ring_->settle();
  failing_percent_ = 0;
  const std::size_t events_max = cost_.bound("events-to-an-end");
  for (std::size_t i = 0; i < events_max; ++i) {
    pass_time();
    if (is_quiet() || violation()) return;
    clients_[random_.below(clients_.size())]->advance(SimulatedClient::Phase::calm);
    service_->advance();
    any_worker().advance();
  }
  note_endless();
}

void World::do_something_rare() {
  const Sketch key =
      key_of(random_.below(settings_.keys), settings_.has_heads && random_.chance(50));
  switch (random_.below(10)) {
    case 0:
    case 1:
      return change_tables([&](HistoryTable& table) { return table.erase(key); });
    case 2:
      return mark(key, Mark::blacklisted);
    case 3:
      // (What floods the others goes on.)
      return settings_.is_flooded ? void() : replace_worker();
    case 4:
      // One without an order never begins anew.
      return settings_.has_votes || settings_.is_flooded ? void() : service_->restart_group();
    case 5:
    case 6:  // and thought better of it
      mark(key, Mark::blacklisted);
      return mark(key, Mark::none);
    default:
      return mark(key, Mark::none);
  }
}

// An operator's marks are all members'.
void World::mark(const Sketch& key, Mark mark) {
  change_tables([&](HistoryTable& table) { return table.set_mark(key, mark); });
}

void World::change_tables(const std::function<ChangeOutcome(HistoryTable&)>& change) {
  for (std::size_t place = 0; place < (ring_ ? kWorkers : 1); ++place) {
    const ChangeOutcome outcome = change(table(place));
    ASSERT(outcome == ChangeOutcome::done);
  }
}

// The answer to another request of the same group.
Sigma World::place_other(sketcher::SigmaOrder& order) {
  const auto placed = order.place(order.submit(), service_->place_other());
  tally_.add(Met::group_restarts, placed.restarted ? 1 : 0);
  return placed.sigma;
}

void World::crowd_out(const Sketch& key) {
  if (!crowd_ || !crowd_->evict(key)) return;
  tally_.add(Met::evictions);
  if (settings_.variant.world == BrokenWorld::evicted_unnoticed) forget_table();
}

// All entries, and what their buckets know of others.
void World::forget_table() {
  former_tables_.push_back(std::exchange(table_, make_table(seed_)));
}

void World::write_past_the_sketcher() {
  if (!settings_.has_lag()) return;
  const Key key = random_.below(settings_.keys);
  const std::string value = new_value();
  const OperationId id = recorder_.begin(key, false, Kind::write, &value, instant_);
  service_->write_elsewhere(key, value, [this, id, value](bool is_done) {
    if (is_done) recorder_.end(id, &value, instant_);
  });
}

void World::replace_worker() {
  const std::size_t place = random_.below(workers_.size());
  for (const auto& client : clients_)
    client->on_worker_killed(*workers_[place]);
  workers_[place] = std::make_unique<SimulatedWorker>(*this, place);
  ++workers_born_;
  tally_.add(Met::workers_replaced);
}

SimulatedWorker& World::any_worker() {
  return *workers_[random_.below(workers_.size())];
}

void World::share_key(sketch::RequestForm& form) {
  if (form.is_read && form.target.size() == 2) form.key.assign({1, 2, 3});
}

Sketch World::key_of(Key key, bool is_head) {
  sketch::RequestForm form;
  http::Request request;
  request.method = is_head ? "HEAD" : "GET";
  request.target = "/" + std::to_string(key);
  request.fields.add("host", "site");
  sketch::RequestCanonicalizer canonicalizer;
  auto refusal = canonicalizer.locate(request, {}, form);
  ASSERT(!refusal);
  refusal = canonicalizer.canonicalize(request, {}, profile_, form);
  ASSERT(!refusal);
  if (settings_.variant.world == BrokenWorld::shared_key) share_key(form);
  return sketcher::history_key(floors_, sketch_, form);
}

}  // namespace prophecy::consistency

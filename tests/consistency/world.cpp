#include "consistency/world.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "consistency/client.hpp"
#include "consistency/crowd.hpp"
#include "consistency/worker.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::size_t kSteps = 500;
constexpr std::size_t kClients = 5;
constexpr std::size_t kWorkers = 2;
constexpr std::uint64_t kBusyPercent = 20;  // of runs: entries are evicted

ServiceSettings draw_settings(Variant variant, simulation::Random& random) {
  ServiceSettings settings;
  settings.variant = variant;
  settings.keys = variant == Variant::shared_key ? 2 : random.between(1, 2);
  settings.votes = variant == Variant::votes_numbered_early ||
                   variant == Variant::vote_ignores_floor ||
                   (variant == Variant::correct && random.chance(30));
  settings.is_busy = random.chance(kBusyPercent);
  return settings;
}

HistoryTable make_table(std::uint64_t seed) {
  HistoryTable table = std::move(*HistoryTable::create(HistoryTable::kBytesMin, seed));
  table.attach(0);
  return table;
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  fast += other.fast;
  replicated += other.replicated;
  coalesced += other.coalesced;
  outdated += other.outdated;
  out_of_date += other.out_of_date;
  unsketchable += other.unsketchable;
  evictions += other.evictions;
  group_restarts += other.group_restarts;
  return *this;
}

World::World(std::uint64_t seed, Variant variant)
    : random_(seed),
      settings_(draw_settings(variant, random_)),
      service_(settings_, random_),
      table_seed_(seed),
      table_(make_table(seed)) {
  for (Key key = 0; key < settings_.keys; ++key)
    histories_.emplace_back(service_.current(key));
  for (std::size_t i = 0; i < kWorkers; ++i)
    workers_.push_back(std::make_unique<SimulatedWorker>(*this));
  for (std::size_t i = 0; i < kClients; ++i)
    clients_.push_back(std::make_unique<SimulatedClient>(*this));
  if (!settings_.is_busy) return;
  crowd_ = std::make_unique<Crowd>(table_, seed, [this] { return place_other(); });
  crowd_->fill();
}

World::~World() = default;

Histories World::run() {
  for (std::size_t i = 0; i < kSteps; ++i) {
    ++now_;
    step();
    clean_up();
  }
  Histories histories;
  for (Key key = 0; key < settings_.keys; ++key) {
    std::erase_if(histories_[key].operations, [](const Operation& operation) {
      return operation.kind == Kind::audit && operation.answered == kNever;
    });
    histories.emplace("key-" + std::to_string(key), histories_[key]);
  }
  return histories;
}

// Reads that have ended are destroyed on the loop.
void World::clean_up() {
  loop_.restart();
  loop_.poll();
}

void World::step() {
  const std::uint64_t draw = random_.below(200);
  if (draw < 93) return clients_[random_.below(clients_.size())]->advance();
  if (draw < 168) return service_.advance();
  if (draw < 188) return service_.advance_origin();
  if (draw < 192) return write_past_the_sketcher();
  if (draw < 194) return crowd_out(sketch_of(any_key()));
  do_something_rare();
}

void World::do_something_rare() {
  const Sketch key = sketch_of(any_key());
  ChangeOutcome outcome = ChangeOutcome::done;
  switch (random_.below(10)) {
    case 0:
    case 1:
      outcome = table_.erase(key);
      break;
    case 2:
      outcome = table_.set_mark(key, Mark::blacklisted);
      break;
    case 3:
      return replace_worker();
    case 4:
      // One without an order never begins anew.
      if (!settings_.votes) service_.restart_group();
      break;
    case 5:
    case 6:  // and thought better of it
      outcome = table_.set_mark(key, Mark::blacklisted);
      ASSERT(outcome == ChangeOutcome::done);
      [[fallthrough]];
    default:
      outcome = table_.set_mark(key, Mark::none);
      break;
  }
  ASSERT(outcome == ChangeOutcome::done);
}

// The answer to another request of the same group.
Sigma World::place_other() {
  const auto placed = order_.place(order_.submit(), service_.next_sigma());
  tally_.group_restarts += placed.restarted ? 1 : 0;
  return placed.sigma;
}

void World::crowd_out(const Sketch& key) {
  if (!crowd_ || !crowd_->evict(key)) return;
  ++tally_.evictions;
  if (variant() == Variant::evicted_unnoticed) forget_table();
}

// All entries, and what their buckets know of others.
void World::forget_table() {
  former_tables_.push_back(std::exchange(table_, make_table(table_seed_)));
}

void World::write_past_the_sketcher() {
  const Key key = any_key();
  const std::string value = new_value();
  const std::size_t operation = begin(key, Kind::write, &value);
  service_.write(key, value);
  end(key, operation, &value);
}

void World::replace_worker() {
  auto& worker = workers_[random_.below(workers_.size())];
  for (const auto& client : clients_)
    client->on_worker_killed(*worker);
  clean_up();
  worker = std::make_unique<SimulatedWorker>(*this);
}

Tally World::tally() const {
  Tally tally = tally_;
  tally.coalesced = counters_.coalesced.get();
  tally.group_restarts += counters_.group_restarts.get();
  tally.unsketchable = counters_.unsketchable.get();
  return tally;
}

SimulatedWorker& World::any_worker() {
  return *workers_[random_.below(workers_.size())];
}

Sketch World::sketch_of(Key key) const {
  const bool is_shared = settings_.variant == Variant::shared_key;
  return sketch_of("key-" + std::to_string(is_shared ? 0 : key));
}

Sketch World::sketch_of(std::string_view value) {
  Sketch sketch{};
  ASSERT(value.size() < sketch.size());
  std::copy(value.begin(), value.end(), sketch.begin());
  return sketch;
}

std::size_t World::begin(Key key, Kind kind, const std::string* value) {
  Operation operation;
  operation.kind = kind;
  operation.invoked = now_;
  if (value != nullptr) operation.value = histories_[key].number_of(*value);
  histories_[key].operations.push_back(operation);
  return histories_[key].operations.size() - 1;
}

void World::end(Key key, std::size_t number, const std::string* value) {
  Operation& operation = histories_[key].operations[number];
  if (value != nullptr) {
    operation.value = histories_[key].number_of(*value);
    operation.acceptable = now_;
  }
  // Whether a failed write is carried out is not known; a failed read is over.
  if (value != nullptr || operation.kind == Kind::read) operation.answered = now_;
}

}  // namespace prophecy::consistency

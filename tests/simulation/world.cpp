#include "simulation/world.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace prophecy::simulation {
namespace {

// After the network has healed, so much virtual time is enough to get going again,
constexpr Duration kLivenessBound = seconds(20);
// and so much for each call that had to wait for the one before it in its session.
constexpr Duration kCallBound = milliseconds(500);
// And so much more, when faulty clients have ended too, for every replica to have caught up.
constexpr Duration kCatchUpTime = seconds(10);
// No run needs nearly as many; one that does has a group that talks to itself for ever.
constexpr std::uint64_t kStepsMax = 5'000'000;

bool takes_part(const ReplicaHost& host) {
  const pbft::ReplicaState state = host.replica().status().state;
  return state == pbft::ReplicaState::normal || state == pbft::ReplicaState::changing_view;
}

}  // namespace

World::World(Scenario scenario, bool trace)
    : scenario_(std::move(scenario)),
      trace_(trace, scheduler_),
      checker_(scenario_),
      network_(scenario_, scheduler_, trace_,
               [this](NodeId to, const pbft::Frame& frame) { deliver(to, frame); }) {
  add_nodes();
}

// A share of the seeds runs with the real cryptography.
Keys World::keys() const {
  if (scenario_.canary == Canary::gullible_signatures) return Keys::gullible;
  return scenario_.seed % 50 == 0 ? Keys::cryptographic : Keys::cheap;
}

void World::add_nodes() {
  const auto send = [this](NodeId from, const pbft::Outgoing& outgoing, Duration delay) {
    network_.send(from, outgoing, delay);
  };
  const auto ring = [&](NodeId node) -> const pbft::KeyRing& {
    return key_ring_of(keys(), node, scenario_.replicas());
  };
  for (NodeId node = 0; node < scenario_.replicas(); ++node) {
    replicas_.push_back(
        std::make_unique<ReplicaHost>(scenario_, ring(node), scheduler_, checker_, send));
  }
  for (NodeId client = 0; client < scenario_.clients; ++client) {
    clients_.push_back(std::make_unique<ClientHost>(scenario_, ring(kFirstClientId + client),
                                                    scheduler_, checker_, send));
  }
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (ingredient.kind != IngredientKind::bad_client) continue;
    bad_clients_.push_back(std::make_unique<BadClient>(scenario_, ingredient, ring(ingredient.node),
                                                       scheduler_, send));
  }
}

void World::announce(const Ingredient& ingredient) {
  const std::string text =
      "[" + std::to_string(ingredient.number) + "] " + simulation::describe(ingredient);
  scheduler_.at(ingredient.from, [this, text] { trace_.line("begins: " + text); });
  if (ingredient.until == TimePoint::max()) return;
  scheduler_.at(ingredient.until, [this, text] { trace_.line("ends: " + text); });
}

// What a frame says of its sender has to be proved by its MAC.
void World::deliver(NodeId to, const pbft::Frame& frame) {
  if (to < replicas_.size()) {
    replicas_[to]->on_frame(frame);
  } else if (to >= kFirstClientId && to - kFirstClientId < clients_.size()) {
    clients_[to - kFirstClientId]->on_frame(*frame);
  }
}

bool World::finished() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->finished(); });
}

bool World::step() {
  if (++steps_ > kStepsMax) checker_.fail("the group does not come to rest");
  return checker_.ok() && scheduler_.step();
}

RunResult World::run() {
  for (const auto& replica : replicas_)
    replica->start();
  for (const auto& client : clients_)
    client->start();
  for (const auto& client : bad_clients_)
    client->start();
  for (const Ingredient& ingredient : scenario_.ingredients) {
    if (trace_.is_on()) announce(ingredient);
    if (ingredient.kind != IngredientKind::crash) continue;
    scheduler_.at(ingredient.from, [this, node = ingredient.node] { replicas_[node]->crash(); });
  }
  const TimePoint end = scenario_.healed + kLivenessBound + kCallBound * scenario_.longest_queue();
  while (!finished() && scheduler_.now() < end && step()) {
  }
  check_end();
  if (checker_.ok() && scenario_.asks_for_liveness() && !excused()) {
    const TimePoint until = std::max(scheduler_.now(), scenario_.quiet_from()) + kCatchUpTime;
    while ((scheduler_.now() < scenario_.healed || !laggard().empty()) &&
           scheduler_.now() < until && step()) {
    }
    // Meanwhile too many may have fallen behind what others retain.
    if (checker_.ok() && !excused() && !laggard().empty()) {
      checker_.fail(laggard() + ", long after the network has healed");
    }
  }
  if (!checker_.ok()) trace_.line("violation: " + checker_.violation());
  return {checker_.violation(), coverage()};
}

Coverage World::coverage() const {
  Coverage coverage;
  coverage.runs = 1;
  coverage.excused_runs = excused() ? 1 : 0;
  coverage.requests_ordered = checker_.ordered_requests();
  for (const auto& client : clients_)
    coverage.calls_agreed += client->agreed();
  for (const auto& replica : replicas_) {
    const pbft::ReplicaCounters& counters = replica->replica().counters();
    coverage.checkpoints += counters.checkpoints_stable;
    coverage.views_entered += counters.views_entered;
    coverage.contents_fetched += counters.contents_fetched;
  }
  coverage.runs_with_new_view = coverage.views_entered > 0 ? 1 : 0;
  coverage.frames = network_.frames();
  coverage.steps = steps_;
  coverage.note(scenario_);
  return coverage;
}

std::uint32_t World::lost_for_good() const {
  std::uint64_t lost = scenario_.liars() | scenario_.faulty_in_the_end();
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    if (!takes_part(*replicas_[node])) lost |= std::uint64_t{1} << node;
  }
  return static_cast<std::uint32_t>(std::popcount(lost));
}

bool World::excused() const {
  return lost_for_good() > scenario_.faults;
}

void World::check_end() {
  if (!checker_.ok() || !scenario_.asks_for_liveness() || excused()) return;
  for (const auto& client : clients_) {
    if (!client->finished()) {
      checker_.fail(std::to_string(client->open_calls()) +
                    " calls of a client are not answered although the network has healed");
    }
  }
}

// Those that have stopped to misbehave are asked as well: their state was always right.
std::string World::laggard() const {
  std::uint64_t highest = 0;
  for (const auto& replica : replicas_)
    highest = std::max(highest, replica->replica().status().last_executed);
  const std::uint64_t faulty = scenario_.faulty_in_the_end();
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const std::uint64_t executed = replicas_[node]->replica().status().last_executed;
    if (contains(faulty, node) || !takes_part(*replicas_[node]) || executed == highest) continue;
    return "replica " + std::to_string(node) + " has executed " + std::to_string(executed) +
           " batches of " + std::to_string(highest);
  }
  return "";
}

}  // namespace prophecy::simulation

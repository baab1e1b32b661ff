#include "simulation/world.hpp"

#include <bit>

#include "simulation/group_keys.hpp"

namespace prophecy::simulation {
namespace {

// After the network has healed, so much virtual time is enough for every call.
constexpr Duration kLivenessBound = seconds(20);
// And so much more for every replica to have caught up.
constexpr Duration kCatchUpTime = seconds(4);

bool takes_part(const ReplicaHost& host) {
  const pbft::ReplicaState state = host.replica().status().state;
  return state == pbft::ReplicaState::normal || state == pbft::ReplicaState::changing_view;
}

}  // namespace

World::World(std::uint64_t seed, Canary canary, bool trace)
    : scenario_(make_scenario(seed, canary)),
      random_(seed ^ 0x5eedULL),
      checker_(scenario_),
      network_(
          scenario_, scheduler_, random_, trace,
          [this](NodeId from, NodeId to, const pbft::Frame& frame) { deliver(from, to, frame); }) {
  const auto send = [this](NodeId from, const pbft::Outgoing& outgoing) {
    network_.send(from, outgoing.to, outgoing.frame);
  };
  // A share of the seeds runs with the real cryptography.
  const Keys keys = seed % 50 == 0 ? Keys::cryptographic : Keys::cheap;
  for (NodeId node = 0; node < scenario_.replicas(); ++node) {
    replicas_.push_back(std::make_unique<ReplicaHost>(scenario_,
                                                      key_ring_of(keys, node, scenario_.replicas()),
                                                      scheduler_, random_, checker_, send));
  }
  for (NodeId client = 0; client < scenario_.clients; ++client) {
    clients_.push_back(std::make_unique<ClientHost>(
        scenario_, key_ring_of(keys, kFirstClientId + client, scenario_.replicas()), scheduler_,
        random_, checker_, send));
  }
}

void World::deliver(NodeId from, NodeId to, const pbft::Frame& frame) {
  (void)from;  // what a frame says of its sender has to be proved by its MAC
  if (to < replicas_.size()) {
    replicas_[to]->on_frame(*frame);
  } else if (to >= kFirstClientId && to - kFirstClientId < clients_.size()) {
    clients_[to - kFirstClientId]->on_frame(*frame);
  }
}

bool World::finished() const {
  for (const auto& client : clients_) {
    if (!client->finished()) return false;
  }
  return true;
}

RunResult World::run() {
  for (const auto& replica : replicas_)
    replica->start();
  for (const auto& client : clients_)
    client->start();
  for (const CrashPlan& crash : scenario_.crashes) {
    scheduler_.at(crash.at, [this, node = crash.replica] { replicas_[node]->crash(); });
  }
  const TimePoint end = scenario_.healed + kLivenessBound;
  while (checker_.ok() && !finished() && scheduler_.now() < end && scheduler_.step()) {
    check_bounds();
  }
  check_end();
  if (checker_.ok() && scenario_.asks_for_liveness() && !excused()) {
    const TimePoint caught_up = std::max(scheduler_.now(), scenario_.healed) + kCatchUpTime;
    while (checker_.ok() && scheduler_.now() < caught_up && scheduler_.step())
      check_bounds();
    check_caught_up();
  }

  RunResult result;
  result.violation = checker_.violation();
  result.ordered_requests = checker_.ordered_requests();
  for (const auto& client : clients_)
    result.agreed_calls += client->agreed();
  for (const auto& replica : replicas_) {
    result.stable_checkpoints += replica->replica().counters().checkpoints_stable;
  }
  result.excused = excused();
  return result;
}

void World::check_bounds() {
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    if (scenario_.is_byzantine(node)) continue;
    const pbft::ReplicaStatus status = replicas_[node]->replica().status();
    const std::string who = "replica " + std::to_string(node);
    if (status.log_batches > scenario_.replica.window + scenario_.replica.retained_batches + 1 &&
        status.log_batches > 2 * (scenario_.replica.window + scenario_.replica.retained_batches)) {
      checker_.fail(who + " keeps " + std::to_string(status.log_batches) + " batches");
    }
    if (status.state == pbft::ReplicaState::diverged) checker_.fail(who + " has diverged");
    // Where all batches are kept, nobody needs more than retransmission.
    if (status.state == pbft::ReplicaState::needs_state_transfer &&
        scenario_.replica.retained_batches >= 512) {
      checker_.fail(who + " gives up although all it lacks is retained");
    }
  }
}

std::uint32_t World::lost_for_good() const {
  std::uint64_t lost = scenario_.byzantine;
  for (const CrashPlan& crash : scenario_.crashes)
    lost |= std::uint64_t{1} << crash.replica;
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    if (!takes_part(*replicas_[node])) {
      lost |= std::uint64_t{1} << node;
    }
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

void World::check_caught_up() {
  std::uint64_t highest = 0;
  for (const auto& replica : replicas_) {
    highest = std::max(highest, replica->replica().status().last_executed);
  }
  for (NodeId node = 0; node < replicas_.size(); ++node) {
    const pbft::ReplicaStatus status = replicas_[node]->replica().status();
    if (scenario_.is_byzantine(node) || replicas_[node]->crashed() ||
        !takes_part(*replicas_[node]) || status.last_executed == highest) {
      continue;
    }
    checker_.fail("replica " + std::to_string(node) + " has executed " +
                  std::to_string(status.last_executed) + " batches of " + std::to_string(highest) +
                  ", long after the network has healed");
  }
}

}  // namespace prophecy::simulation

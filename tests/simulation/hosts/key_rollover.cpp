#include "simulation/hosts/key_rollover.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace prophecy::simulation {
namespace {

constexpr Duration kAskedEvery = milliseconds(20);
// A patient operator gives up after so long: the group may wait for the next restart.
constexpr Duration kPatience = seconds(2);

}  // namespace

KeyRollover::KeyRollover(const Ingredient& ingredient, Random random, Scheduler& scheduler,
                         const Trace& trace)
    : ingredient_(ingredient), random_(random), scheduler_(scheduler), trace_(trace) {}

void KeyRollover::start(Members members) {
  members_ = std::move(members);
  const auto replicas = static_cast<NodeId>(members_.replicas.size());
  const auto first = static_cast<NodeId>(random_.below(replicas));
  for (NodeId i = 0; i < replicas; ++i) {
    const NodeId replica = (first + i) % replicas;
    if (replica != ingredient_.node) left_.push_back(replica);
  }
  scheduler_.at(ingredient_.from, [this] {
    members_.replicas[ingredient_.node]->crash();
    asked_since_ = scheduler_.now();
    scheduler_.after(ingredient_.offset, [this] { go_on(); });
  });
}

bool KeyRollover::all_are_back() const {
  std::uint64_t highest = 0;
  for (const auto& replica : members_.replicas)
    highest = std::max(highest, replica->status().last_executed);
  for (NodeId node = 0; node < members_.replicas.size(); ++node) {
    const ReplicaHost& replica = *members_.replicas[node];
    if (node == ingredient_.node) continue;
    const pbft::ReplicaStatus& status = replica.status();
    const bool is_back = !replica.crashed() && status.silent_until == 0 &&
                         status.recovery == pbft::RecoveryState::none &&
                         status.last_executed == highest;
    if (!is_back) return false;
  }
  return true;
}

void KeyRollover::go_on() {
  // Not even a hasty operator begins while another replica is behind.
  const bool is_first = left_.size() + 1 == members_.replicas.size();
  const bool is_waiting = (!ingredient_.is_hasty || is_first) && !all_are_back() &&
                          scheduler_.now() - asked_since_ < kPatience;
  if (is_waiting) return scheduler_.after(kAskedEvery, [this] { go_on(); });
  asked_since_ = scheduler_.now();
  if (!left_.empty()) {
    const NodeId replica = left_.back();
    left_.pop_back();
    restart(replica);
  } else if (clients_done_ < members_.clients.size()) {
    const auto client = kFirstClientId + static_cast<NodeId>(clients_done_);
    members_.clients[clients_done_++]->take_keys(members_.later_keys(client));
  } else {
    return scheduler_.at(ingredient_.until, [this] { come_back(); });
  }
  scheduler_.after(ingredient_.offset, [this] { go_on(); });
}

void KeyRollover::restart(NodeId replica) {
  trace_.line("replica " + std::to_string(replica) + " takes the later keys");
  members_.replicas[replica]->crash();
  members_.replicas[replica]->take_keys(members_.later_keys(replica));
  scheduler_.after(milliseconds(random_.between(5, 60)),
                   [this, replica] { members_.replicas[replica]->restart(); });
}

void KeyRollover::come_back() {
  trace_.line("replica " + std::to_string(ingredient_.node) + " comes back with new keys");
  ReplicaHost& replica = *members_.replicas[ingredient_.node];
  replica.take_keys(members_.later_keys(ingredient_.node));
  if (ingredient_.is_elsewhere) replica.lose_disk();
  replica.restart();
  is_done_ = true;
}

}  // namespace prophecy::simulation

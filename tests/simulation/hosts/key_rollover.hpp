// A replica gets new keys, as docs/new-keys.md says: it is stopped, the other members take the
// later group file one after another, replicas first, and then it comes back under its new key. A
// careful operator waits for each replica to be back before the next is restarted, a hasty one does
// not.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "simulation/hosts/client_host.hpp"
#include "simulation/hosts/replica_host.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/hosts/trace.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class KeyRollover {
 public:
  struct Members {
    std::span<const std::unique_ptr<ReplicaHost>> replicas;
    std::span<const std::unique_ptr<ClientHost>> clients;
    // Of a member, by the later file.
    std::function<const pbft::KeyRing&(NodeId member)> later_keys;
  };

  // For an ingredient of that kind. The members are there once it is started.
  KeyRollover(const Ingredient& ingredient, Random random, Scheduler& scheduler,
              const Trace& trace);

  void start(Members members);
  // The replica is there again, and everybody has the later file.
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  void go_on();
  void restart(NodeId replica);
  void come_back();
  // Nobody whom the operator has restarted is behind.
  [[nodiscard]] bool all_are_back() const;

  Ingredient ingredient_;
  Random random_;
  Scheduler& scheduler_;
  const Trace& trace_;
  Members members_{};
  std::vector<NodeId> left_;  // replicas that have to take the file, the next at the end
  std::size_t clients_done_ = 0;
  TimePoint asked_since_{};
  bool is_done_ = false;
};

}  // namespace prophecy::simulation

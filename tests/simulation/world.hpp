// A whole group with its clients in one process, driven by one seed to its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "simulation/checker.hpp"
#include "simulation/client_host.hpp"
#include "simulation/network.hpp"
#include "simulation/replica_host.hpp"
#include "simulation/scenario.hpp"
#include "simulation/scheduler.hpp"

namespace prophecy::simulation {

struct RunResult {
  std::string violation;  // empty: all checks held
  std::uint64_t ordered_requests = 0;
  std::uint64_t agreed_calls = 0;
  std::uint64_t stable_checkpoints = 0;
  // Too many replicas had fallen behind for good, so that liveness was not asked for.
  bool excused = false;
};

class World {
 public:
  World(std::uint64_t seed, Canary canary, bool trace);

  RunResult run();

 private:
  void deliver(NodeId from, NodeId to, const pbft::Frame& frame);
  [[nodiscard]] bool finished() const;
  void check_bounds();
  [[nodiscard]] std::uint32_t lost_for_good() const;
  [[nodiscard]] bool excused() const;
  void check_end();
  void check_caught_up();

  Scenario scenario_;
  Random random_;
  Scheduler scheduler_;
  Checker checker_;
  Network network_;
  std::vector<std::unique_ptr<ReplicaHost>> replicas_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
};

}  // namespace prophecy::simulation

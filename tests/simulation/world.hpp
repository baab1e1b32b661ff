// A whole group with its clients in one process, driven by one scenario to its end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "simulation/checker.hpp"
#include "simulation/coverage.hpp"
#include "simulation/group_keys.hpp"
#include "simulation/hosts/bad_client.hpp"
#include "simulation/hosts/client_host.hpp"
#include "simulation/hosts/hosted_registers.hpp"
#include "simulation/hosts/key_host.hpp"
#include "simulation/hosts/key_rollover.hpp"
#include "simulation/hosts/network.hpp"
#include "simulation/hosts/replica_host.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/hosts/strangers.hpp"
#include "simulation/hosts/thief.hpp"
#include "simulation/hosts/trace.hpp"
#include "simulation/hosts/twins.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

struct RunResult {
  std::string violation;  // empty: all checks held
  Coverage coverage;
};

class World {
 public:
  World(Scenario scenario, bool trace);

  RunResult run();

 private:
  void add_nodes();
  [[nodiscard]] ReplicaHost::Send send_of(NodeId replica, const ReplicaHost::Send& send);
  [[nodiscard]] const Twins* twins_of(NodeId replica) const;
  void add_key_hosts();
  void add_rollovers(const ReplicaHost::Send& send);
  // What strangers have recorded in it.
  [[nodiscard]] std::deque<pbft::Frame> earlier_life() const;
  void on_key_message(NodeId to, const pbft::Frame& frame);
  // All nodes.
  void begin();
  void start_replicas();
  void announce(const Ingredient& ingredient);
  void plan_accident(const Ingredient& ingredient);
  void at_each(std::uint64_t nodes, const std::function<void(ReplicaHost&)>& what);
  void crash(NodeId node, bool loses_power);
  void strike(const Ingredient& ingredient);
  void refuse(const Ingredient& crash);
  // Once all of the first turn are correct members; until then it is tried again.
  void begin_second_turn(TimePoint since);
  void mend(const Ingredient& ingredient);
  [[nodiscard]] bool one_more_may_be_faulty() const;
  [[nodiscard]] bool is_untold_somewhere() const;
  [[nodiscard]] bool is_too_much(const Ingredient& lost_service) const;
  void deliver(NodeId to, const pbft::Frame& frame);
  void deliver_to_replica(NodeId to, NodeId from, const pbft::Frame& frame);
  [[nodiscard]] ReplicaHost::Speaker speaker_of(const pbft::Frame& frame) const;
  [[nodiscard]] Keys keys() const;
  [[nodiscard]] bool finished() const;
  [[nodiscard]] bool step();
  void check_end();
  // Empty when all that should have caught up have.
  [[nodiscard]] std::string laggard() const;
  [[nodiscard]] Coverage coverage() const;

  const Scenario scenario_;
  Scheduler scheduler_;
  Trace trace_;
  Checker checker_;
  Network network_;
  Lies lies_;
  std::map<NodeId, pbft::KeyRing> changing_rings_;  // none where keys stay
  std::map<NodeId, std::unique_ptr<KeyHost>> key_hosts_;
  std::vector<std::unique_ptr<HostedRegisters>> services_;  // by replica
  std::vector<std::unique_ptr<ReplicaHost>> replicas_;
  std::vector<std::unique_ptr<Twins>> twins_;  // the second ones
  std::vector<std::unique_ptr<Thief>> thieves_;
  std::vector<std::unique_ptr<KeyRollover>> rollovers_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
  std::vector<std::unique_ptr<BadClient>> bad_clients_;
  Strangers strangers_;
  std::map<NodeId, std::uint64_t> unnoticed_at_;  // what it had executed when its state went wrong
  std::set<std::uint32_t> struck_;                // numbers of services that were lost
  std::uint64_t steps_ = 0;
};

}  // namespace prophecy::simulation

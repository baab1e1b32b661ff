// What must hold at every step of a run, whatever the faulty do. The first violation is kept.
//
//  - No two correct replicas execute different requests at one place in the order, and each
//    executes in that order.
//  - They execute it with the same agreed time and seed; that time never goes back.
//  - No request is executed twice by one replica.
//  - An agreed ordered answer is that of the sequential history at its place, which comes after
//    the places of all calls that were completed before it was submitted.
//  - A read outside the order shows a state of the history; no older one than was completed
//    before, where that is promised.
//  - No correct replica is accused, and none leaves the group without need.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pbft/core/actions.hpp"
#include "pbft/core/client.hpp"
#include "simulation/register_service.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

// One call of a client, as the client's host knows it.
struct Call {
  NodeId client = 0;
  pbft::CallId id = 0;
  Operation operation;
  pbft::CallKind kind = pbft::CallKind::ordered;
  TimePoint submitted;
  // What was known when it was submitted.
  pbft::Sigma sigma_floor = 0;
  std::uint64_t version_floor = 0;
  bool impatient = false;
  bool cancelled = false;
};

class Checker {
 public:
  explicit Checker(const Scenario& scenario);

  void on_handed_out(NodeId replica, const pbft::Execution& execution);
  void on_submitted(Call& call);
  void on_completed(const Call& call, const pbft::Completion& completion);
  void on_refuted(NodeId replica);
  void fail(const std::string& what);

  [[nodiscard]] const std::string& violation() const { return violation_; }
  [[nodiscard]] bool ok() const { return violation_.empty(); }
  [[nodiscard]] std::uint64_t ordered_requests() const { return order_.size(); }

 private:
  struct Ordered {
    Operation operation;
    Bytes result;  // of the sequential history
    pbft::AgreedInput input;
  };

  void check_ordered(const Call& call, const pbft::Completion& completion);
  void check_read_only(const Call& call, const pbft::Completion& completion);

  const Scenario& scenario_;
  RegisterService model_;
  std::map<pbft::Sigma, Ordered> order_;
  std::map<NodeId, pbft::Sigma> last_of_replica_;
  std::map<NodeId, std::set<std::uint64_t>> executed_by_replica_;
  pbft::Sigma completed_sigma_ = 0;
  std::map<std::uint8_t, std::uint64_t> completed_version_;  // by register
  std::string violation_;
};

}  // namespace prophecy::simulation

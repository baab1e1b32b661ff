// The network between the nodes of a run: loses, delays, repeats, reorders and damages frames and
// is cut in parts, as the scenario says, until it has healed.
#pragma once

#include <functional>
#include <string>

#include "pbft/core/actions.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"
#include "simulation/scheduler.hpp"

namespace prophecy::simulation {

// One readable line about a frame.
[[nodiscard]] std::string describe_frame(ByteView frame);

class Network {
 public:
  using Deliver = std::function<void(NodeId from, NodeId to, const pbft::Frame& frame)>;

  Network(const Scenario& scenario, Scheduler& scheduler, Random& random, bool trace,
          Deliver deliver);

  void send(NodeId from, NodeId to, const pbft::Frame& frame);

 private:
  [[nodiscard]] bool separated(NodeId a, NodeId b) const;
  void deliver_later(NodeId from, NodeId to, const pbft::Frame& frame);

  const Scenario& scenario_;
  Scheduler& scheduler_;
  Random& random_;
  bool trace_;
  Deliver deliver_;
};

}  // namespace prophecy::simulation

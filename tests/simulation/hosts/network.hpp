// The network between the nodes of a run: loses, delays, repeats, reorders and damages frames and
// is cut in parts, as the scenario says, until it has healed. Links of some replicas may be narrow
// (connections.hpp); elsewhere there is no order, and room for everything.
#pragma once

#include <functional>

#include "pbft/core/state/actions.hpp"
#include "simulation/hosts/connections.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/hosts/trace.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class Network {
 public:
  using Deliver = std::function<void(NodeId to, const pbft::Frame& frame)>;

  Network(const Scenario& scenario, Scheduler& scheduler, const Trace& trace, Deliver deliver);

  // `delay` is the sender's doing, and comes on top of the network's.
  void send(NodeId from, const pbft::Outgoing& outgoing, Duration delay);
  // Its connections break.
  void on_process_ended(NodeId node) { connections_.break_off_all(node); }
  [[nodiscard]] std::uint64_t frames() const { return frames_; }
  // In front of narrow links; and connections that broke there.
  [[nodiscard]] std::uint64_t frames_dropped() const { return frames_dropped_; }
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }

 private:
  [[nodiscard]] bool separated(NodeId a, NodeId b) const;
  [[nodiscard]] bool strikes(IngredientKind kind);
  [[nodiscard]] const Ingredient* narrows(NodeId from, NodeId to) const;
  void deliver_later(NodeId from, NodeId to, const pbft::Frame& frame, Duration delay);
  void tell(NodeId from, const pbft::Outgoing& outgoing, const char* what) const;

  const Scenario& scenario_;
  Scheduler& scheduler_;
  Random random_;
  const Trace& trace_;
  Deliver deliver_;
  std::vector<Ingredient> partitions_;
  std::vector<Ingredient> shares_;
  std::vector<Ingredient> narrow_;
  Connections connections_;
  Duration longest_lateness_{};
  std::uint64_t frames_ = 0;
  std::uint64_t frames_dropped_ = 0;
  std::uint64_t breaks_ = 0;
};

}  // namespace prophecy::simulation

// `Operator` gives origins weights, and takes some out of the draw and puts them back, as a run
// goes: through the health that a master judges by, whose view all workers draw from.
//
// It is the oracle for the draw, too: an origin that is out is asked by a read only when that has
// asked all the others.
#pragma once

#include <optional>

#include "consistency/oracles/breach.hpp"
#include "consistency/oracles/tally.hpp"
#include "consistency/settings.hpp"
#include "replica_client/core/health/group_health.hpp"
#include "simulation/random.hpp"
#include "sketcher/core/policy/health_view.hpp"

namespace prophecy::consistency {

class Operator {
 public:
  Operator(const RunSettings& settings, std::uint64_t seed, Breach& breach, Tally& tally);

  // What all workers see.
  [[nodiscard]] const sketcher::HealthView& view() const { return view_; }
  void advance(TimePoint now);
  // Origins whose drain is over: what is under way there ends at any time.
  [[nodiscard]] replica_client::ReplicaSet cut() const { return view_.cut(); }
  // Nothing is changed any more: all origins are ready, and alike.
  void settle();
  // A read that has asked these origins asks one more.
  void check_ask(NodeId replica, replica_client::ReplicaSet asked);

 private:
  void change(TimePoint now);
  void publish(TimePoint now);

  simulation::Random random_;
  Breach& breach_;
  Tally& tally_;
  std::optional<replica_client::GroupHealth> health_;  // in runs with weights
  sketcher::HealthView view_;
};

}  // namespace prophecy::consistency

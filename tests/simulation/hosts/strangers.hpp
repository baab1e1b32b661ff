// Nodes without keys that reach every member: they speak in members' names, and repeat what they
// have overheard, with and without the seals that replicas put around it, in this life of the group
// or in an earlier one.
#pragma once

#include <deque>
#include <functional>
#include <unordered_set>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class Strangers {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing, Duration delay)>;

  // For all ingredients of that kind.
  Strangers(const Scenario& scenario, Scheduler& scheduler, Send send);

  void start();
  // Whatever anybody sends.
  void overhear(const pbft::Frame& frame);
  [[nodiscard]] bool are_there() const { return !all_.empty(); }
  // For an earlier life, in which they say nothing: keeps what its signature proves.
  void only_record() { only_records_ = true; }
  [[nodiscard]] const std::deque<pbft::Frame>& recorded() const { return overheard_; }
  // From such a one, of the same group and the same keys. Its session keys are no more.
  void remember(const std::deque<pbft::Frame>& recorded);
  // True for a frame of theirs, unless it is long ago.
  [[nodiscard]] bool sent(const pbft::Frame& frame) const { return sent_.contains(frame.get()); }

 private:
  void record(const pbft::Frame& frame);
  void act(const Ingredient& ingredient);
  [[nodiscard]] pbft::Frame draw(const Ingredient& ingredient);
  [[nodiscard]] pbft::Frame made_up();
  [[nodiscard]] pbft::Frame view_change();
  [[nodiscard]] pbft::Frame overheard();
  [[nodiscard]] pbft::Frame in_a_members_name(const pbft::Frame& frame);
  void say(NodeId to, const pbft::Frame& frame);

  const Scenario& scenario_;
  Scheduler& scheduler_;
  Send send_;
  Random random_;
  pbft::KeyRing keys_;  // a stranger's own, which proves nothing
  std::vector<Ingredient> all_;
  bool only_records_ = false;
  std::deque<pbft::Frame> overheard_;
  std::deque<pbft::Frame> earlier_;
  std::deque<pbft::Frame> newest_;  // keeps their addresses from being used again
  std::unordered_set<const Bytes*> sent_;
};

}  // namespace prophecy::simulation

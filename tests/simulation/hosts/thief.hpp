// Somebody that has a replica's key: another process under it, which knows nothing of what the
// replica has promised. Until a member takes the file that lists another key, it is one faulty
// replica to it, and from then on a stranger.
#pragma once

#include <deque>
#include <unordered_set>

#include "simulation/hosts/hosted_registers.hpp"
#include "simulation/hosts/replica_host.hpp"

namespace prophecy::simulation {

class Thief {
 public:
  // For an ingredient of that kind; `keys` are the replica's former ones.
  Thief(const Scenario& scenario, const Ingredient& ingredient, const pbft::KeyRing& keys,
        Scheduler& scheduler, Lies& lies, ReplicaHost::Send send);

  [[nodiscard]] NodeId node() const { return ingredient_.node; }
  void start();
  // Whatever is sent to the replica.
  void on_frame(const pbft::Frame& frame, ReplicaHost::Speaker speaker);
  // True for a frame of its own, unless it is long ago.
  [[nodiscard]] bool sent(const pbft::Frame& frame) const { return sent_.contains(frame.get()); }

 private:
  void note(const pbft::Frame& frame);

  Ingredient ingredient_;
  Scheduler& scheduler_;
  bool has_begun_ = false;
  std::deque<pbft::Frame> newest_;  // keeps their addresses from being used again
  std::unordered_set<const Bytes*> sent_;
  Checker ignored_;
  HostedRegisters service_;
  ReplicaHost process_;
};

}  // namespace prophecy::simulation

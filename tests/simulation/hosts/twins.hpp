// A replica that runs twice under one key: two correct processes, each with a disk, a service and a
// memory of its own, of which other members speak with the one or the other, as in Twins
// (Bano et al., OPODIS 2021). Together they are one faulty replica whose lies are coherent: each
// of its two worlds is one in which a correct replica could be.
//
// Who speaks with which is drawn anew in each round; some speak with both. The second one is no
// part of any check.
#pragma once

#include <memory>

#include "simulation/hosts/hosted_registers.hpp"
#include "simulation/hosts/replica_host.hpp"

namespace prophecy::simulation {

class Twins {
 public:
  enum class Which : std::uint8_t { first, second };

  // For an ingredient of that kind; `send` as that of the first.
  Twins(const Scenario& scenario, const Ingredient& ingredient, const pbft::KeyRing& keys,
        Scheduler& scheduler, Lies& lies, ReplicaHost::Send send);

  [[nodiscard]] NodeId node() const { return ingredient_.node; }
  void start() { second_.start(); }
  // Other nodes hear this one, and are heard by it, at the moment.
  [[nodiscard]] bool speaks_with(Which which, NodeId other) const;
  void on_frame(const pbft::Frame& frame, ReplicaHost::Speaker speaker) {
    second_.on_frame(frame, speaker);
  }

 private:
  const Scenario& scenario_;
  Ingredient ingredient_;
  Scheduler& scheduler_;
  Checker ignored_;
  HostedRegisters service_;
  ReplicaHost second_;
};

}  // namespace prophecy::simulation

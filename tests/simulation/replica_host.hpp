// One replica of a run: the real protocol core, a register service that takes its time, and what
// the scenario does to them.
#pragma once

#include <functional>

#include "pbft/core/replica.hpp"
#include "simulation/byzantine.hpp"
#include "simulation/checker.hpp"
#include "simulation/random.hpp"
#include "simulation/register_service.hpp"
#include "simulation/scheduler.hpp"

namespace prophecy::simulation {

// Clocks that differ, and random seeds.
class SimulatedInputs final : public pbft::InputSource {
 public:
  SimulatedInputs(Duration skew, const Scheduler& scheduler, Random& random)
      : skew_(skew), scheduler_(scheduler), random_(random) {}
  std::uint64_t wall_time() override;
  pbft::Seed fresh_seed() override;

 private:
  Duration skew_;
  const Scheduler& scheduler_;
  Random& random_;
};

class ReplicaHost {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing)>;

  ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
              Random& random, Checker& checker, Send send);

  void start();
  void crash() { crashed_ = true; }
  [[nodiscard]] bool crashed() const { return crashed_; }
  void on_frame(ByteView frame);
  [[nodiscard]] const pbft::Replica& replica() const { return replica_; }

 private:
  void carry_out(pbft::ReplicaActions& actions);
  void run(const pbft::Execution& execution);
  Bytes execute(const Operation& operation);
  void finish(std::uint64_t id, pbft::ExecutionStatus status, Bytes result);
  void arm();

  const Scenario& scenario_;
  NodeId self_;
  Scheduler& scheduler_;
  Random& random_;
  Checker& checker_;
  Send send_;
  SimulatedInputs inputs_;
  pbft::Replica replica_;
  RegisterService service_;
  ByzantineSender byzantine_;
  bool crashed_ = false;
  TimePoint armed_for_ = TimePoint::max();
};

}  // namespace prophecy::simulation

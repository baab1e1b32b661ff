// One replica of a run: the real protocol core, a register service that takes its time, a clock of
// its own, and what the scenario does to them.
#pragma once

#include <functional>

#include "pbft/core/replica.hpp"
#include "simulation/checker.hpp"
#include "simulation/misconduct.hpp"
#include "simulation/node_clock.hpp"
#include "simulation/random.hpp"
#include "simulation/register_service.hpp"
#include "simulation/scheduler.hpp"

namespace prophecy::simulation {

class ReplicaHost {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing, Duration delay)>;

  ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
              Checker& checker, Send send);

  void start();
  void crash() { crashed_ = true; }
  [[nodiscard]] bool crashed() const { return crashed_; }
  void on_frame(const pbft::Frame& frame);
  [[nodiscard]] const pbft::Replica& replica() const { return replica_; }

 private:
  [[nodiscard]] TimePoint now() const { return clock_.shown_at(scheduler_.now()); }
  void carry_out(pbft::ReplicaActions& actions);
  void send(const pbft::Outgoing& outgoing);
  void run(const pbft::Execution& execution);
  Bytes execute(ByteView operation);
  void finish(std::uint64_t id, pbft::ExecutionStatus status, Bytes result);
  void arm();

  const Scenario& scenario_;
  const pbft::KeyRing& keys_;
  NodeId self_;
  Scheduler& scheduler_;
  Random random_;
  Checker& checker_;
  Send send_;
  NodeClock clock_;
  pbft::Replica replica_;
  RegisterService service_;
  Misconduct misconduct_;
  bool fails_reads_ = false;
  bool crashed_ = false;
  TimePoint armed_for_ = TimePoint::max();  // of the scheduler
};

}  // namespace prophecy::simulation

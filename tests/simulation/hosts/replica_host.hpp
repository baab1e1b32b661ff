// One replica of a run: the real protocol core, a service that takes its time, a disk, a clock of
// its own, and what the scenario does to them.
//
// What the core wants sent and executed waits until what it has written lasts, as in the real
// shell.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "pbft/core/replica.hpp"
#include "pbft/replica/outbox.hpp"
#include "simulation/checker.hpp"
#include "simulation/hosts/defects.hpp"
#include "simulation/hosts/disk.hpp"
#include "simulation/hosts/hosted_service.hpp"
#include "simulation/hosts/node_clock.hpp"
#include "simulation/hosts/scheduler.hpp"
#include "simulation/misconduct.hpp"
#include "simulation/prices.hpp"
#include "simulation/random.hpp"

namespace prophecy::simulation {

// Clocks that differ, and random seeds.
class SimulatedInputs final : public pbft::InputSource {
 public:
  SimulatedInputs(const Scenario& scenario, NodeId replica, const Scheduler& scheduler,
                  Random& random)
      : scenario_(scenario), replica_(replica), scheduler_(scheduler), random_(random) {}
  std::uint64_t wall_time() override;
  // No clock shows it.
  [[nodiscard]] std::uint64_t true_time() const;
  // By so much the wall clock is off at the moment, beside what it always is.
  [[nodiscard]] Duration step() const;
  pbft::Seed fresh_seed() override;

 private:
  const Scenario& scenario_;
  NodeId replica_;
  const Scheduler& scheduler_;
  Random& random_;
};

class ReplicaHost {
 public:
  using Send = std::function<void(NodeId from, const pbft::Outgoing& outgoing, Duration delay)>;

  // The service is this replica's own.
  ReplicaHost(const Scenario& scenario, const pbft::KeyRing& keys, Scheduler& scheduler,
              Checker& checker, Lies& lies, HostedService& service, Send send);

  void start();
  // For good, or until restart().
  void crash(bool power_loss = false);
  void restart();
  void lose_disk();
  void rot_disk(std::uint64_t percent) { disk_.rot(percent); }
  // The service is something else from now on, unnoticed.
  void spoil_service() { service_.lose_state(); }
  // It is away, and has lost its state. A process that is running notices at once, and one that is
  // started meanwhile when it has something for it to do.
  void lose_service();
  void service_returns();
  // It has been away, is back, and is given nothing all the same.
  [[nodiscard]] bool ignores_service() const {
    return process_ != nullptr && process_->trust == Process::Trust::returned;
  }
  // Its shell takes the peer's process for ended.
  void peer_is_gone(NodeId peer);
  [[nodiscard]] bool crashed() const { return process_ == nullptr; }
  // Who has sent it.
  enum class Speaker : std::uint8_t {
    member,
    stranger,
    thief,  // somebody that has the key which a member had
  };
  void on_frame(const pbft::Frame& frame, Speaker speaker = Speaker::member);
  // From its next start on: those of a later group file.
  void take_keys(const pbft::KeyRing& keys);
  // What is no matter of the core's: true when this replica is there, and gets to see it.
  [[nodiscard]] bool hears(const pbft::Frame& frame);
  // As it would send it, unless it is down.
  void send(const pbft::Outgoing& outgoing);
  // As of the crash, if it is down.
  [[nodiscard]] const pbft::ReplicaStatus& status() const { return status_; }
  [[nodiscard]] const pbft::ReplicaCounters& counters() const { return counters_; }
  void begin_second_turn() { misconduct_.begin_second_turn(); }
  // Its state changes behind everybody's back.
  void rot();
  // The last batch behind which its service's state may differ from the others', as nobody knows.
  [[nodiscard]] std::uint64_t differed_at() const { return differed_at_; }
  // The last batch behind which it could tell its service's state for a checkpoint.
  [[nodiscard]] std::uint64_t told_at() const { return told_at_; }
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] const PricePeaks& price_peaks() const { return prices_.peaks(); }

 private:
  // What is gone with a crash.
  struct Process {
    Process(const Scenario& scenario, const pbft::KeyRing& keys, pbft::PartStore& parts,
            pbft::InputSource& inputs, pbft::Outbox::Commit commit,
            std::function<void()> on_released);
    pbft::Replica replica;
    pbft::Outbox outbox;
    TimePoint armed_for = TimePoint::max();  // of the scheduler
    TimePoint ticked_at = TimePoint::min();  // of the scheduler
    std::uint32_t ticks_at_once = 0;
    std::vector<std::pair<pbft::Frame, Speaker>> arrived;  // in this turn
    // Of the service: behind a write of which nobody knows how far it got.
    enum class Behind : std::uint8_t { nothing, uncertain, given_up };
    Behind behind = Behind::nothing;
    // As a shell does: until the service is restored behind its return, it is given nothing.
    enum class Trust : std::uint8_t { trusted, away, returned };
    Trust trust = Trust::trusted;
    bool lacks_writes = false;  // since its service was last restored
    bool has_executed = false;  // something of the order
    // Why it was given up: to execute that write once more; of these the core has counted so many.
    bool repeats = false;
    std::uint64_t repeats_seen = 0;
    bool is_full = false;  // the state, at the last checkpoint or restore
    std::vector<pbft::Execution> waiting;
  };
  using Handle = std::weak_ptr<Process>;

  [[nodiscard]] TimePoint now() const { return clock_.shown_at(scheduler_.now()); }
  // Later, unless the process has ended by then; when its machine runs.
  void later(Duration delay, std::function<void()> what);
  // Its machine stands still (IngredientKind::halted).
  [[nodiscard]] bool is_halted();
  // At once, or as soon as its machine runs again, unless the process has ended by then. What comes
  // while it stands still keeps its order.
  void when_running(std::function<void()> what);
  // By a defect: as if it had looked at its clock all the time.
  void pretend_to_have_run(TimePoint from);
  // A frame that its machine has for it.
  void read(const pbft::Frame& frame, Speaker speaker);
  // Hands an event to the core, and does what it asks for.
  void with_core(const std::function<void(pbft::ReplicaActions&)>& event);
  // One frame of a turn.
  void take(const pbft::Frame& frame, Speaker speaker, pbft::ReplicaActions& actions);
  void end_turn();
  [[nodiscard]] bool is_limited_by_name(ByteView frame);
  [[nodiscard]] bool bears_grudge(const pbft::Frame& frame);
  [[nodiscard]] bool is_new_here(ByteView frame);
  void carry_out(pbft::ReplicaActions& actions);
  // What the outbox lets go.
  void release();
  void flush_parts();
  void make_durable(const pbft::DurableParts& parts);
  void answer(const pbft::ReplicaActions& actions);
  void count_lie(BehaviourKind kind, const pbft::Frame& frame, bool authentic);
  void run(const pbft::Execution& execution);
  [[nodiscard]] bool is_state_away() const;
  void notice_absence();
  void service_is_back();
  void give_nothing(const pbft::Execution& execution);
  void cut_short(const pbft::Execution& execution);
  // Also of a replica that cannot rely on its state, and goes on without looking at it.
  void note_own_checkpoints(const pbft::ReplicaActions& actions);
  // The service's state is that behind this checkpoint.
  void note_size(std::uint64_t checkpoint);
  // A write that the service has no room for: true when it refuses it now.
  bool refuse_write(const pbft::Execution& execution, const HostedService::Traits& traits,
                    Duration delay);
  // A write that crashes: true when it does so now.
  bool fail_write(const pbft::Execution& execution, const HostedService::Traits& traits,
                  Duration delay);
  void resume(bool goes_on);
  void go_on_behind_write();
  void check_executions(const HostedService::Traits& traits);
  // When the service comes to answer an operation of the order.
  Duration in_turn(Duration delay, std::uint64_t operation);
  // Null when none of this kind does now.
  [[nodiscard]] const Ingredient* befalls(IngredientKind kind) const;
  // How it honestly differs from other replicas; 0 where it does not.
  [[nodiscard]] std::uint64_t noise(IngredientKind kind, std::uint64_t operation);
  [[nodiscard]] HostedService::Noise noise_in(const HostedService::Traits& traits,
                                              const pbft::Execution& execution);
  // `fails`: the scenario has it fail, whatever its result.
  void finish(std::uint64_t id, bool fails, std::optional<Bytes> result);
  void arm();
  [[nodiscard]] std::uint64_t looks() const { return process_->replica.looks() + looks_at_all_; }

  const Scenario& scenario_;
  const pbft::KeyRing* keys_;
  bool has_later_keys_ = false;
  NodeId self_;
  Scheduler& scheduler_;
  Random random_;
  Checker& checker_;
  Lies& lies_;
  Send send_;
  NodeClock clock_;
  SimulatedInputs inputs_;
  Disk disk_;
  HostedService& service_;
  Misconduct misconduct_;
  Prices prices_;
  bool fails_reads_ = false;
  std::uint64_t differed_at_ = 0;
  std::uint64_t told_at_ = 0;
  std::uint64_t restarts_ = 0;
  // By operation; with those before it was started again, and those undone.
  std::map<std::uint64_t, std::uint32_t> executions_;
  bool is_service_away_ = false;
  std::uint64_t restores_ = 0;  // for other reasons than a write that crashed
  // Its disk has lost what its service should be: until it has the group's state, what it executes
  // counts for nobody.
  bool is_astray_ = false;
  std::optional<TimePoint> halted_at_;  // when something first had to wait for its machine
  TimePoint free_at_{};                 // its service, of what takes it long
  std::shared_ptr<Process> process_;
  Prices::Asked priced_;                    // of this event
  RepeatedReplies repeated_;                // a defect
  std::map<NodeId, TimePoint> limited_at_;  // likewise
  std::set<NodeId> grudges_;                // likewise
  std::set<std::size_t> taken_;             // hashes of members' frames, where there are strangers
  std::vector<Bytes> hoard_;                // likewise
  std::uint64_t looks_at_all_ = 0;          // likewise
  pbft::ReplicaStatus status_;
  pbft::ReplicaCounters counters_;
};

}  // namespace prophecy::simulation

// What a replica agent runs agreed operations on. A service answers each execution exactly once,
// at once or later, in any order; the Executor sees to it that it never holds a write beside
// anything else.
//
// Its state can be taken out as a tree of parts and put back. Neither stops the event loop for
// longer than an execution does: long work belongs on a thread of the service's own.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/metric.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

// Counted by every kind of service, zero where it makes no sense.
struct ServiceCounters {
  std::uint64_t executed = 0;
  std::uint64_t unavailable = 0;     // reads not answered, writes answered when sent again: no vote
  std::uint64_t malformed = 0;       // operations that are no request
  std::uint64_t origin_refused = 0;  // connections that the origin did not take
  std::uint64_t origin_tls_failures = 0;  // handshakes: it is not who it has to be, for one
  std::uint64_t origin_broken = 0;        // connections that broke within an exchange
  std::uint64_t origin_timeouts = 0;
  std::uint64_t origin_malformed = 0;  // answers that are not HTTP, too large, or inadmissible
  std::uint64_t repeated = 0;          // requests sent again
  std::uint64_t uncertain_writes = 0;  // writes of which nobody knows whether they took effect
  std::uint64_t refused_full = 0;      // writes answered with 507: the state is full
  std::uint64_t given_up = 0;          // executions ended because a restore was to come
  std::uint64_t snapshots = 0;
  std::uint64_t snapshots_failed = 0;
  std::uint64_t restores = 0;
  std::uint64_t restores_failed = 0;
};
inline constexpr Metric kServiceMetric = counter_metric("prophecy_replica_service_requests_total",
                                                        "requests", "Requests to the service.")
                                             .by("end");
inline constexpr Metric kOriginFailuresMetric =
    counter_metric("prophecy_replica_origin_failures_total", "failures", "Failures of the origin.")
        .by("failure");
inline constexpr auto kServiceTable = metric_table<ServiceCounters>(
    "", "service",
    {metric_row<&ServiceCounters::executed>("executed", kServiceMetric, "executed"),
     metric_row<&ServiceCounters::unavailable>(
         "unavailable", kServiceMetric, "unavailable",
         "No answer to a read, or to a write until it was sent again: no vote."),
     metric_row<&ServiceCounters::malformed>("malformed", kServiceMetric, "malformed",
                                             "Operations that are no request."),
     metric_row<&ServiceCounters::origin_refused>("origin_refused", kOriginFailuresMetric,
                                                  "refused",
                                                  "The origin did not take the connection."),
     metric_row<&ServiceCounters::origin_tls_failures>("origin_tls_failures", kOriginFailuresMetric,
                                                       "tls", "The TLS handshake failed."),
     metric_row<&ServiceCounters::origin_broken>("origin_broken", kOriginFailuresMetric, "broken",
                                                 "The connection broke within an exchange."),
     metric_row<&ServiceCounters::origin_timeouts>("origin_timeouts", kOriginFailuresMetric,
                                                   "timeout"),
     metric_row<&ServiceCounters::origin_malformed>(
         "origin_malformed", kOriginFailuresMetric, "malformed",
         "The answer is not HTTP, too large, or inadmissible."),
     metric_row<&ServiceCounters::repeated>("repeated", kServiceMetric, "repeated",
                                            "Requests sent again."),
     metric_row<&ServiceCounters::uncertain_writes>(
         "uncertain_writes", kServiceMetric, "uncertain_write",
         "Writes of which nobody knows whether they took effect."),
     metric_row<&ServiceCounters::refused_full>("refused_full", kServiceMetric, "refused_full",
                                                "Writes answered with 507: the state is full."),
     metric_row<&ServiceCounters::given_up>("given_up", kServiceMetric, "given_up",
                                            "Executions ended because a restore was to come."),
     metric_row<&ServiceCounters::snapshots>(
         "snapshots", counter_metric("prophecy_replica_service_snapshots_total", "snapshots",
                                     "Snapshots taken of the service's state.")),
     metric_row<&ServiceCounters::snapshots_failed>(
         "snapshots_failed",
         counter_metric("prophecy_replica_service_snapshots_failed_total", "snapshots",
                        "Snapshots of the service's state that failed.")),
     metric_row<&ServiceCounters::restores>(
         "restores", counter_metric("prophecy_replica_service_restores_total", "restores",
                                    "Restorations of the service's state.")),
     metric_row<&ServiceCounters::restores_failed>(
         "restores_failed",
         counter_metric("prophecy_replica_service_restores_failed_total", "restores",
                        "Restorations of the service's state that failed."))});

class Service {
 public:
  // Small enough a capture ([this, id]) keeps it free of allocations.
  using Done = std::function<void(ExecutionStatus status, Bytes result)>;
  using SnapshotDone = std::function<void(Result<Digest> root)>;
  using RestoreDone = std::function<void(Result<> restored)>;

  virtual ~Service() = default;

  // Takes what it needs of the system, once and before all else. An error: nothing may begin.
  [[nodiscard]] virtual Result<> open() { return {}; }

  // True when the operation cannot change the state. Looks at nothing but the bytes.
  [[nodiscard]] virtual bool is_read(ByteView operation) const = 0;
  // `execution.storage` keeps the operation; a service that answers later keeps a copy of it. What
  // `execution.whole` cannot read any more is answered as if it had been cut short on the way.
  virtual void execute(const Execution& execution, Done done) = 0;

  // Puts the state into `parts`, children first, and yields the root's digest. Equal states of
  // correct services have equal roots. Requires that no ordered execution runs, and that none
  // begins before `done`; reads outside the order may. `parts` is used until `done`.
  virtual void snapshot(PartStore& parts, SnapshotDone done) = 0;
  // Makes the state what `root` says; a snapshot would yield the same root afterwards. Requires
  // that all parts below the root are held, and that nothing runs or begins before `done`. What the
  // parts say may be anything: it is checked. After a failure the state is undefined, and another
  // restore may mend it.
  virtual void restore(const PartStore& parts, const Digest& root, RestoreDone done) = 0;
  // The present state is the right one, as if it had been restored.
  virtual void adopt() {}
  // A write without a usable answer may be undone: by a restore of its state.
  [[nodiscard]] virtual bool may_undo() const { return false; }
  // A write that an earlier process has sent may go on for so long, and is waited for.
  [[nodiscard]] virtual Duration left_behind() const { return Duration::zero(); }
  // What it fronts does not answer, and may come back in another state.
  [[nodiscard]] virtual bool is_away() const { return false; }
  // The state is about to be replaced: executions that run are to end soon, as `unavailable` where
  // they have no answer yet.
  virtual void give_up() {}

  // No Done of any kind is called after this.
  virtual void stop() {}

  [[nodiscard]] const ServiceCounters& counters() const { return counters_; }

 protected:
  ServiceCounters counters_;
};

}  // namespace prophecy::pbft

// What a replica agent runs agreed operations on. A service answers each execution exactly once,
// at once or later, in any order; the Executor sees to it that it never holds a write beside
// anything else.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <functional>

#include "base/bytes.hpp"
#include "pbft/core/actions.hpp"

namespace prophecy::pbft {

// Counted by every kind of service, zero where it makes no sense.
struct ServiceCounters {
  std::uint64_t executed = 0;
  std::uint64_t unavailable = 0;     // reads not answered, writes answered when sent again: no vote
  std::uint64_t malformed = 0;       // operations that are no request
  std::uint64_t origin_refused = 0;  // connections that the origin did not take
  std::uint64_t origin_broken = 0;   // connections that broke within an exchange
  std::uint64_t origin_timeouts = 0;
  std::uint64_t origin_malformed = 0;  // answers that are not HTTP, too large, or inadmissible
  std::uint64_t repeated = 0;          // requests sent again
  std::uint64_t uncertain_writes = 0;  // writes of which nobody knows whether they took effect
};

class Service {
 public:
  // Small enough a capture ([this, id]) keeps it free of allocations.
  using Done = std::function<void(ExecutionStatus status, Bytes result)>;

  virtual ~Service() = default;

  // True when the operation cannot change the state. Looks at nothing but the bytes.
  [[nodiscard]] virtual bool is_read(ByteView operation) const = 0;
  // `execution.storage` keeps the operation; a service that answers later keeps a copy of it.
  virtual void execute(const Execution& execution, Done done) = 0;
  // No Done is called after this.
  virtual void stop() {}

  [[nodiscard]] const ServiceCounters& counters() const { return counters_; }

 protected:
  ServiceCounters counters_;
};

}  // namespace prophecy::pbft

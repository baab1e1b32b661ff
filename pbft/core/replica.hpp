// One PBFT replica as a deterministic object (Castro and Liskov, OSDI 1999, section 4). Takes
// frames, ticks and finished executions, with the time as an argument; hands back frames to send
// and operations to execute. Opens no socket, reads no clock, draws no randomness.
//
// Every entry appends to `out`, which the shell carries out and clears. One thread at a time.
// After each call, next_timer() is when on_tick() is next wanted; it may have moved either way.
#pragma once

#include <memory>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/actions.hpp"
#include "pbft/core/counters.hpp"
#include "pbft/core/input_source.hpp"
#include "pbft/core/quorum.hpp"
#include "pbft/core/settings.hpp"

namespace prophecy::pbft {

class Replica {
 public:
  // Requires check(settings); `keys` belongs to a replica of the group. `keys` and `inputs` outlive
  // this object.
  Replica(const ReplicaSettings& settings, const KeyRing& keys, InputSource& inputs);
  // For tests only: with another rule than the protocol's.
  Replica(const ReplicaSettings& settings, const KeyRing& keys, InputSource& inputs,
          const QuorumRule& quorum);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // True when a MAC proved the sender named in the frame's header, whether or not the message
  // was of use. Only then may a shell learn a route to a client from it. The frame is not kept.
  bool on_frame(ByteView frame, TimePoint now, ReplicaActions& out);
  // Requires an id that was handed out and not yet answered. `result` is ignored if unavailable.
  void on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, TimePoint now,
                   ReplicaActions& out);
  // Called at next_timer(); harmless at any other time.
  void on_tick(TimePoint now, ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

  [[nodiscard]] const ReplicaCounters& counters() const;
  [[nodiscard]] ReplicaStatus status() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace prophecy::pbft

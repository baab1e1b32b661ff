// One PBFT replica as a deterministic object (Castro and Liskov, OSDI 1999, section 4). Takes
// frames, ticks and finished executions, with the time as an argument; hands back frames to send
// and operations to execute. Opens no socket, reads no clock, draws no randomness.
#pragma once

#include "pbft/core/actions.hpp"

namespace prophecy::pbft {

class KeyRing;
struct ReplicaSettings;

class Replica {
 public:
  Replica(const ReplicaSettings& settings, const KeyRing& keys);
  ~Replica();

  // Whom the frame claims to come from is checked by its MAC, not by the connection. True when it
  // is authentic (fresh or not): the shell trusts the connection `source` a little more then.
  bool on_frame(ByteView frame, SourceTag source, TimePoint now, ReplicaActions& out);
  void on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, TimePoint now,
                   ReplicaActions& out);
  // Called at next_timer(); harmless at any other time.
  void on_tick(TimePoint now, ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;
};

}  // namespace prophecy::pbft

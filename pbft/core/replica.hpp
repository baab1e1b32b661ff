// One PBFT replica as a deterministic object (Castro and Liskov, OSDI 1999, section 4). Takes
// frames, ticks and finished executions, with the time as an argument; hands back frames to send
// and operations to execute. Opens no socket, reads no clock, draws no randomness.
//
// Every entry appends to `out`, which the shell carries out and clears: first the writes, all of
// which are on its disk before a frame of the same call, or of a later one, is sent, or an
// execution begins. One thread at a time. After each call, next_timer() is when on_tick() is next
// wanted; it may have moved either way.
#pragma once

#include <memory>

#include "pbft/auth/key_ring.hpp"
#include "pbft/core/state/actions.hpp"
#include "pbft/core/state/adoption_status.hpp"
#include "pbft/core/state/counters.hpp"
#include "pbft/core/state/input_source.hpp"
#include "pbft/core/state/journal.hpp"
#include "pbft/core/state/part_store.hpp"
#include "pbft/core/state/quorum.hpp"
#include "pbft/core/state/settings.hpp"

namespace prophecy::pbft {

// With what a replica begins.
struct ReplicaStart {
  enum class Memory : std::uint8_t {
    whole,     // `records` are all that it ever wrote, perhaps nothing, in a group that is new
    lost,      // it may have said things that it does not remember; `records` are empty
    not_kept,  // the same, and nothing is written either
  };
  Memory memory = Memory::whole;
  StoredRecords records;
  // Greater than at any start before, as far as the clock can be trusted: milliseconds since 1970.
  std::uint64_t wall_clock = 1;
};

class Replica {
 public:
  // Requires check(settings); `keys` belongs to a replica of the group. They, `parts` and `inputs`
  // outlive this object.
  Replica(const ReplicaSettings& settings, const KeyRing& keys, PartStore& parts,
          InputSource& inputs);
  // For tests only: with another rule than the protocol's.
  Replica(const ReplicaSettings& settings, const KeyRing& keys, PartStore& parts,
          InputSource& inputs, const QuorumRule& quorum);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // The first call. False when the records are none of a journal; then they are lost.
  [[nodiscard]] bool start(const ReplicaStart& start, TimePoint now, ReplicaActions& out);
  // True when the message's MAC or signature proved its sender, whether or not the message was of
  // use. Only then may a shell learn a route to a client from it. The frame is not kept.
  bool on_frame(ByteView frame, TimePoint now, ReplicaActions& out);
  // The same in two steps, for a shell that has many frames at a time: the requests among them are
  // proposed together. propose_waiting() must follow the last of them, before the shell waits.
  bool take_frame(ByteView frame, TimePoint now, ReplicaActions& out);
  void propose_waiting(TimePoint now, ReplicaActions& out);
  // Requires an id that was handed out and not yet answered. `result` is ignored if unavailable.
  void on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, TimePoint now,
                   ReplicaActions& out);
  // Answers to ReplicaActions::snapshot, restore and flush_parts. The root of the service's state,
  // whose parts are kept; zero: it cannot be told.
  void on_snapshot(const Digest& service, TimePoint now, ReplicaActions& out);
  void on_restored(bool done, TimePoint now, ReplicaActions& out);
  void on_parts_flushed(bool done, TimePoint now, ReplicaActions& out);
  // Answers to ReplicaActions::durable_parts.
  void on_parts_durable(std::uint64_t id, bool done, TimePoint now, ReplicaActions& out);
  // The service has lost its state, or writes (true), or can be restored again (false).
  void on_service_state(bool lost, TimePoint now, ReplicaActions& out);
  // The connection to this peer broke, and its machine refuses another: its process has ended. A
  // hint: see ViewChanger::note_gone().
  void on_peer_gone(NodeId peer, TimePoint now, ReplicaActions& out);
  // An operator has the present state of the service looked at, and adopted
  // (core/recovery/adoption.hpp). The error says why not.
  [[nodiscard]] Result<> look_at_state(TimePoint now, ReplicaActions& out);
  [[nodiscard]] Result<> adopt_state(const AdoptionOrder& order, TimePoint now,
                                     ReplicaActions& out);
  // Called at next_timer(); harmless at any other time.
  void on_tick(TimePoint now, ReplicaActions& out);
  [[nodiscard]] TimePoint next_timer() const;

  [[nodiscard]] const ReplicaCounters& counters() const;
  // How often it has looked at a missing body, or at a session that holds a request by digest. For
  // tests of what an event costs.
  [[nodiscard]] std::uint64_t looks() const;
  // For a look after every event; the whole status is for people.
  [[nodiscard]] ReplicaState state() const;
  [[nodiscard]] RecoveryState recovery() const;
  [[nodiscard]] std::uint64_t view() const;
  [[nodiscard]] ReplicaStatus status() const;
  // The same, into one that is there, whose memory is used again.
  void read_status(ReplicaStatus& status) const;
  [[nodiscard]] AdoptionState adoption_state() const;
  [[nodiscard]] AdoptionStatus adoption() const;

 private:
  class Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace prophecy::pbft

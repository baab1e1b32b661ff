// `Replica::Machine` is a replica's parts, and passes each event on to them.
//
// Only for replica.cpp and replica_start.cpp.
#pragma once

#include <algorithm>

#include "pbft/core/bodies/bodies.hpp"
#include "pbft/core/execution/execution.hpp"
#include "pbft/core/execution/snapshots.hpp"
#include "pbft/core/execution/uncertain_writes.hpp"
#include "pbft/core/intake/front_door.hpp"
#include "pbft/core/intake/intake.hpp"
#include "pbft/core/ordering/agreement.hpp"
#include "pbft/core/ordering/held_requests.hpp"
#include "pbft/core/ordering/patience.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/core/recovery/adoption.hpp"
#include "pbft/core/recovery/recovery.hpp"
#include "pbft/core/recovery/rejoin.hpp"
#include "pbft/core/replica.hpp"
#include "pbft/core/state/checkpoints.hpp"
#include "pbft/core/state/client_table.hpp"
#include "pbft/core/state/context.hpp"
#include "pbft/core/state/log.hpp"
#include "pbft/core/views/retransmission.hpp"
#include "pbft/core/views/standings.hpp"
#include "pbft/core/views/view_changer.hpp"

namespace prophecy::pbft {

// The parts, who gets which message, and what follows from progress.
class Replica::Machine {
 public:
  Machine(const ReplicaSettings& settings, const KeyRing& keys, PartStore& parts,
          InputSource& inputs, const QuorumRule& quorum)
      : context{settings, keys, quorum, keys.self(), inputs},
        front_door(context),
        bodies(context, parts),
        log(settings.window + settings.retained_batches + 1, quorum.replicas, settings.body_cost,
            parts),
        clients(settings.cached_reply_bytes_max),
        queue(context.settings, quorum),
        checkpoints(quorum, context.settings.claims_kept()),
        snapshots(parts),
        writes(context, checkpoints),
        execution(context, log, clients, checkpoints, snapshots, parts, bodies, writes),
        agreement(context, log, clients, checkpoints, bodies),
        patience(context.settings, clients),
        held(context, bodies, clients),
        intake(context, clients, queue, execution, patience, held),
        view_changer(context, log, checkpoints, agreement, patience),
        standings(context),
        retransmission(context, log, checkpoints, agreement, view_changer, standings),
        rejoin(context, checkpoints, view_changer, retransmission),
        recovery(context, log, checkpoints, execution, snapshots, parts),
        adoption(context, log, checkpoints, execution, recovery) {
    context.rebirths.resize(quorum.replicas);
    context.claimed.resize(quorum.replicas);
    context.rejoins.resize(quorum.replicas);
  }
  ~Machine() { bodies.close(); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool start(const ReplicaStart& start, ReplicaActions& out);
  void resume(const Remembered& remembered, ReplicaActions& out);
  void review_certificate();

  enum class Proposals : std::uint8_t { now, later };
  // An event, what follows from it, and what others are to be told, sealed.
  template <typename Event>
  void handle(Proposals proposals, TimePoint now, ReplicaActions& out, const Event& event) {
    context.now = now;
    view_changer.notice_absence(now);
    execution.begin_event();
    const std::size_t first = out.sends.size();
    event();
    pump(proposals, now, out);
    front_door.seal(first, out);
  }
  bool take(ByteView frame, TimePoint now, ReplicaActions& out);
  bool dispatch(const FrontDoor::Admitted& admitted, TimePoint now, ReplicaActions& out);
  void note_heard(ByteView frame);
  bool on_checkpoint(ByteView frame);
  void on_part(ByteView frame, ReplicaActions& out);
  bool on_hello(ByteView frame);
  void propose(ReplicaActions& out);
  void pump(Proposals proposals, TimePoint now, ReplicaActions& out);
  void release();
  [[nodiscard]] std::uint64_t awaited_checkpoint() const {
    return std::max(retransmission.awaited_by_silent(), writes.awaited_checkpoint());
  }
  [[nodiscard]] RecoveryState recovery_state() const;
  void read_status(ReplicaStatus& status) const;

  Context context;
  FrontDoor front_door;
  Bodies bodies;  // outlives all handles
  Log log;
  ClientTable clients;
  RequestQueue queue;
  Checkpoints checkpoints;
  Snapshots snapshots;
  UncertainWrites writes;
  ExecutionStage execution;
  Agreement agreement;
  Patience patience;
  HeldRequests held;
  Intake intake;
  ViewChanger view_changer;
  Standings standings;
  Retransmission retransmission;
  Rejoin rejoin;
  Recovery recovery;
  TimePoint shelve_at{};  // not before
  Adoption adoption;
};

}  // namespace prophecy::pbft

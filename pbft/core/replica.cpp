#include "pbft/core/replica.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/replica_machine.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {

bool Replica::Machine::take(ByteView frame, TimePoint now, ReplicaActions& out) {
  context.last_drop.reset();
  const std::uint64_t view = context.view;
  const auto admitted = front_door.admit(frame);
  const bool authentic = admitted && dispatch(*admitted, now, out);
  standings.on_frame_handled(admitted ? admitted->frame : frame, authentic, now);
  if (authentic) note_heard(admitted->frame);
  standings.on_view_left(view, now);
  context.payments.end();
  return authentic;
}

// A sealed frame is of the peer that sealed it, whoever signed it.
void Replica::Machine::note_heard(ByteView frame) {
  const auto header = peek_header(frame);
  const NodeId sender = context.relay ? *context.relay : header ? header->sender : context.self;
  if (is_replica(sender, context.quorum.replicas)) view_changer.note_heard(sender);
}

bool Replica::Machine::dispatch(const FrontDoor::Admitted& admitted, TimePoint now,
                                ReplicaActions& out) {
  const ByteView frame = admitted.frame;
  const auto refuse = [&](DropReason reason) {
    context.drop(reason);
    return false;
  };
  switch (admitted.type) {
    case MessageType::request:
      return intake.on_request(frame, now, out);
    case MessageType::forward:
      intake.on_forward(frame, now, out);
      return false;
    case MessageType::pre_prepare:
      return agreement.on_pre_prepare(frame, out);
    case MessageType::prepare:
    case MessageType::commit:
      return agreement.on_vote(admitted.type, frame, out);
    case MessageType::decision:
      return agreement.on_decision(frame, out);
    case MessageType::view_change:
      return view_changer.on_view_change(frame, now, out);
    case MessageType::new_view:
      return view_changer.on_new_view(frame, now, out);
    case MessageType::checkpoint:
      return on_checkpoint(frame);
    case MessageType::status:
      return retransmission.on_status(frame, now, out);
    case MessageType::reply:
      return refuse(DropReason::unknown_sender);  // for clients only
    case MessageType::hello:
      return on_hello(frame);
    case MessageType::fetch_parts:
      return recovery.on_fetch_parts(frame, out);
    case MessageType::part:
      on_part(frame, out);
      return false;
    case MessageType::rejoin:
      return rejoin.on_rejoin(frame, out);
    case MessageType::pledge:
      return rejoin.on_pledge(frame, out);
    case MessageType::uncertain:
      return writes.on_uncertain(frame, out);
    case MessageType::present:
      return adoption.on_present(frame, out);
    case MessageType::key_ask:
    case MessageType::key_tell:
    case MessageType::key_refusal:
      return refuse(DropReason::malformed);  // the shell has another place for them
    case MessageType::sealed:
      break;  // opened at the door
  }
  UNREACHABLE();
}

bool Replica::Machine::on_checkpoint(ByteView frame) {
  const auto refuse = [&](DropReason reason) {
    context.drop(reason);
    return false;
  };
  const auto message = decode_checkpoint(frame);
  if (!message) return refuse(DropReason::malformed);
  // Its own claim may come back to it within a certificate, after a crash.
  if (!is_replica(message->replica, context.quorum.replicas)) {
    return refuse(DropReason::unknown_sender);
  }
  // Late: the usual end.
  if (!checkpoints.concerns(message->sequence)) return false;
  const CheckpointClaim claim = checkpoints.claimed_by(*message);
  if (!context.may_be_stable(message->sequence, checkpoints.stable_sequence())) {
    return refuse(DropReason::outside_water_marks);
  }
  // Not worth verifying.
  if (!checkpoints.wants(message->replica, claim)) return refuse(DropReason::duplicate);
  if (!context.is_signed_by(message->replica, sha256(message->content), message->signature)) {
    return refuse(DropReason::bad_signature);
  }
  Frame copy = std::make_shared<const Bytes>(frame.begin(), frame.end());
  switch (checkpoints.record(message->replica, claim, std::move(copy))) {
    case Checkpoints::Outcome::added:
    case Checkpoints::Outcome::old:
      break;
    case Checkpoints::Outcome::duplicate:
      context.drop(DropReason::duplicate);
      break;
    case Checkpoints::Outcome::conflicting:
      context.drop(DropReason::conflicting);
      break;
    case Checkpoints::Outcome::stable:
      ++context.counters.checkpoints_stable;
      break;
  }
  return true;
}

// Of a request's body, or of a checkpoint's state.
void Replica::Machine::on_part(ByteView frame, ReplicaActions& out) {
  const auto message = decode_part_message(frame);
  if (!message) return context.drop(DropReason::malformed);
  // Not worth hashing: nobody has proved to have sent it.
  if (bodies.missing() == 0 && recovery.fetch().state() != StateFetch::State::fetching) {
    return context.drop(DropReason::not_wanted);
  }
  const Digest digest = sha256(message->part);
  if (!bodies.on_part(digest, message->part)) recovery.on_part(digest, message->part, out);
}

bool Replica::Machine::on_hello(ByteView frame) {
  const auto refuse = [&](DropReason reason) {
    context.drop(reason);
    return false;
  };
  const auto message = decode_hello(frame);
  if (!message) return refuse(DropReason::malformed);
  if (!context.keys.knows(message->client)) return refuse(DropReason::unknown_sender);
  const Digest digest = sha256(message->content);
  if (!context.keys.verify(message->client, digest, message->tag, message->first_session)) {
    return refuse(context.mac_failure(message->client, message->first_session));
  }
  return true;
}

void Replica::Machine::propose(ReplicaActions& out) {
  // What is stable needs no proposal, whoever made it.
  context.progress.last_proposed =
      std::max(context.progress.last_proposed, checkpoints.stable_sequence());
  while (!queue.empty() && agreement.may_propose(queue.first_is_full()))
    agreement.propose(queue.take(), out);
  // A peer that has lost its memory, or whose service's state is in doubt, votes again after a
  // checkpoint, for which there may be too little to do.
  while (queue.empty() && awaited_checkpoint() > checkpoints.stable_sequence() &&
         context.progress.last_proposed <
             awaited_checkpoint() + context.settings.checkpoint_interval &&
         agreement.may_propose(true)) {
    agreement.propose(RequestQueue::without_requests(), out);
  }
}

void Replica::Machine::pump(Proposals proposals, TimePoint now, ReplicaActions& out) {
  for (bool progress = true; progress && context.takes_part();) {
    progress = false;
    if (const std::vector<BodyName> settled = bodies.take_settled(); !settled.empty()) {
      agreement.on_bodies(out);
      intake.on_settled(settled, out);
    }
    if (view_changer.take_entered()) {
      context.elsewhere = view_changer.elsewhere();
      execution.on_new_view();
      intake.on_new_view(out);
    }
    if (recovery.take_replaced()) progress = true;
    for (Slot* slot = log.find(context.progress.last_ordered + 1);
         recovery.has_base() && slot != nullptr && execution.take(*slot, out);
         slot = log.find(context.progress.last_ordered + 1)) {
      progress = true;
    }
    progress = execution.advance(out) || progress;
    intake.on_ordered(out);
    context.journal.stable(checkpoints, out);
    if (checkpoints.diverged()) context.state = ReplicaState::diverged;
    rejoin.advance(out);
    if (rejoin.take_new_group()) {
      execution.begin_at_zero(out);
      agreement.on_membership(out);
    }
    if (checkpoints.take_proven()) view_changer.on_proven(out);
    recovery.advance(retransmission.is_beyond_help(), out);
    progress = adoption.advance(out) || progress;
    release();
    context.is_service_at_work = execution.is_service_at_work();
    if (proposals == Proposals::now) propose(out);
  }
  if (context.takes_part()) {
    intake.pass_on_waiting(out);
    bodies.advance(out);
  }
  agreement.note_agreed();
  context.is_service_at_work = execution.is_service_at_work();
  context.awaited_by_silent = awaited_checkpoint();
  context.elsewhere = view_changer.elsewhere();
  view_changer.arm(now);
  retransmission.arm(now);
}

// Forgets what is stable and executed, and on the disk as a state, but for what laggards may still
// ask for. When it takes too much room, more: what a restart or a step back would need comes from
// the disk or from others then, and a replica that lags by so much gets a state.
void Replica::Machine::release() {
  const std::uint64_t stable = checkpoints.stable_sequence();
  const std::uint64_t executed = std::min(stable, context.progress.last_executed);
  log.note_stable(stable);
  log.let_bodies_go(context.journal.is_kept() ? recovery.base_before() : stable);
  const std::uint64_t done = std::min(executed, recovery.base());
  const std::uint64_t retained = context.settings.retained_batches;
  if (done > retained) log.release_below(done - retained + 1);
  // What is retained is not in the way of the window.
  const std::uint64_t end = std::min(stable + context.settings.window, context.restart_reach);
  if (end > log.capacity()) log.release_below(std::min(executed, end - log.capacity()) + 1);
  const auto shorten = [&](std::uint64_t last, std::uint64_t bytes_max) {
    while (log.bytes() > bytes_max && log.first_retained() <= last)
      log.release_below(log.first_retained() + 1);
  };
  // The last one stays, however large: who is slower than others by this batch alone needs no
  // state.
  const std::uint64_t before_last = stable - std::min<std::uint64_t>(stable, 1);
  shorten(std::min(done, before_last), context.settings.log_bytes_max / 2);
  const bool keeps_way = recovery.keeps_way();
  if (!keeps_way || !execution.is_unreliable()) {
    shorten(std::min(executed, before_last), context.settings.log_bytes_max);
  }
  const bool waits_for_state =
      stable > std::max(context.resumed_to, context.progress.last_executed) &&
      execution.ordered_in_flight() == 0 && !recovery.goes_on() && !keeps_way;
  if (waits_for_state) shorten(stable, 2 * context.settings.log_bytes_max);
  // The log keeps the batches that the service is busy with, and the next one, but not those
  // behind. This replica has voted there, so that it takes no proposals for them.
  const bool is_full = log.bytes() > 2 * context.settings.log_bytes_max;
  if (is_full && execution.is_service_at_work() && recovery.is_far_behind() &&
      recovery.is_state_everywhere()) {
    log.forget_unexecuted(context.progress.last_ordered + 2, stable);
    context.dropped_until = stable;
  }
  // Contents that the disk had no room for when the view began.
  const std::uint64_t in_memory_max = 2 * context.settings.log_bytes_max;
  if (log.bytes() > in_memory_max && context.now >= shelve_at) {
    shelve_at = context.now + context.settings.status_interval;
    log.shelve(context.view, in_memory_max);
  }
}

RecoveryState Replica::Machine::recovery_state() const {
  if (execution.state() == ExecutionStage::State::restoring) return RecoveryState::restoring;
  if (recovery.fetch().state() == StateFetch::State::fetching) return RecoveryState::fetching;
  return execution.is_unreliable() ? RecoveryState::service_lost : RecoveryState::none;
}

void Replica::Machine::read_status(ReplicaStatus& status) const {
  status.state = context.state;
  status.view = context.view;
  status.primary = context.primary();
  status.view_change_cause = view_changer.cause();
  status.last_proposed = context.progress.last_proposed;
  status.last_ordered = context.progress.last_ordered;
  status.last_executed = context.progress.last_executed;
  status.last_stable = checkpoints.stable_sequence();
  status.silent_until = context.membership.silent_until;
  status.base = recovery.base();
  status.recovery = recovery_state();
  status.answers = !execution.is_unreliable() && !execution.in_doubt_since();
  status.parts_missing = recovery.fetch().parts_missing();
  status.bodies_missing = bodies.missing();
  status.log_batches = log.batches();
  status.log_bytes = log.bytes();
  status.queued_requests = queue.requests();
  status.queued_bytes = queue.bytes();
  status.cached_reply_bytes = clients.result_bytes();
  status.executions_in_flight = execution.in_flight();
  status.epoch = execution.epoch();
  status.lag = standings.lag();
  standings.copy_to(status.peers);
}

Replica::Replica(const ReplicaSettings& settings, const KeyRing& keys, PartStore& parts,
                 InputSource& inputs)
    : Replica(settings, keys, parts, inputs, QuorumRule::standard(settings.faults)) {}

Replica::Replica(const ReplicaSettings& settings, const KeyRing& keys, PartStore& parts,
                 InputSource& inputs, const QuorumRule& quorum)
    : machine_(std::make_unique<Machine>(settings, keys, parts, inputs, quorum)) {
  ASSERT(check(settings).has_value());
  ASSERT(keys.replicas() == 3 * settings.faults + 1 && keys.self() < keys.replicas());
}

Replica::~Replica() = default;

bool Replica::start(const ReplicaStart& start, TimePoint now, ReplicaActions& out) {
  bool readable = false;
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { readable = machine_->start(start, out); });
  return readable;
}

void Replica::on_snapshot(const Digest& service, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out, [&] {
    if (machine_->execution.end_look(service)) return machine_->adoption.on_looked(service, out);
    machine_->execution.on_snapshot(service, out);
  });
}

void Replica::on_restored(bool done, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { machine_->recovery.on_restored(done); });
}

void Replica::on_parts_flushed(bool done, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { machine_->recovery.on_parts_flushed(done, out); });
}

void Replica::on_parts_durable(std::uint64_t id, bool done, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { machine_->bodies.on_durable(id, done); });
}

void Replica::on_service_state(bool lost, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out, [&] {
    if (lost) {
      machine_->recovery.on_service_away();
    } else {
      machine_->recovery.on_service_back();
    }
  });
}

void Replica::on_peer_gone(NodeId peer, TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { machine_->view_changer.note_gone(peer, now); });
}

Result<> Replica::look_at_state(TimePoint now, ReplicaActions& out) {
  Result<> asked;
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { asked = machine_->adoption.look(out); });
  return asked;
}

Result<> Replica::adopt_state(const AdoptionOrder& order, TimePoint now, ReplicaActions& out) {
  Result<> asked;
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { asked = machine_->adoption.adopt(order, out); });
  return asked;
}

bool Replica::on_frame(ByteView frame, TimePoint now, ReplicaActions& out) {
  const bool authentic = take_frame(frame, now, out);
  propose_waiting(now, out);
  return authentic;
}

bool Replica::take_frame(ByteView frame, TimePoint now, ReplicaActions& out) {
  bool authentic = false;
  machine_->handle(Machine::Proposals::later, now, out,
                   [&] { authentic = machine_->take(frame, now, out); });
  return authentic;
}

void Replica::propose_waiting(TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out, [] {});
}

void Replica::on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, TimePoint now,
                          ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out,
                   [&] { machine_->execution.on_executed(id, status, std::move(result), out); });
}

void Replica::on_tick(TimePoint now, ReplicaActions& out) {
  machine_->handle(Machine::Proposals::now, now, out, [&] {
    if (!machine_->context.takes_part()) return;
    const std::uint64_t view = machine_->context.view;
    machine_->view_changer.on_tick(now, out);
    machine_->standings.on_view_left(view, now);
    machine_->retransmission.on_tick(now, out);
    machine_->rejoin.on_tick(out);
    machine_->recovery.on_tick(out);
    machine_->writes.on_tick(out);
    machine_->adoption.on_tick(out);
    machine_->intake.on_tick(out);
  });
}

TimePoint Replica::next_timer() const {
  if (!machine_->context.takes_part()) return TimePoint::max();
  return std::min({machine_->view_changer.next_timer(), machine_->retransmission.next_timer(),
                   machine_->rejoin.next_timer(), machine_->recovery.next_timer(),
                   machine_->writes.next_timer(), machine_->adoption.next_timer(),
                   machine_->intake.next_timer(), machine_->bodies.next_timer(),
                   machine_->execution.next_timer()});
}

const ReplicaCounters& Replica::counters() const {
  return machine_->context.counters;
}

std::uint64_t Replica::looks() const {
  return machine_->context.looks;
}

ReplicaState Replica::state() const {
  return machine_->context.state;
}

RecoveryState Replica::recovery() const {
  return machine_->recovery_state();
}

std::uint64_t Replica::view() const {
  return machine_->context.view;
}
ReplicaStatus Replica::status() const {
  ReplicaStatus status;
  read_status(status);
  return status;
}

void Replica::read_status(ReplicaStatus& status) const {
  machine_->read_status(status);
}

AdoptionState Replica::adoption_state() const {
  return machine_->adoption.state();
}
AdoptionStatus Replica::adoption() const {
  return machine_->adoption.status();
}

}  // namespace prophecy::pbft

#include "pbft/core/replica.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/agreement.hpp"
#include "pbft/core/checkpoints.hpp"
#include "pbft/core/client_table.hpp"
#include "pbft/core/context.hpp"
#include "pbft/core/execution.hpp"
#include "pbft/core/intake.hpp"
#include "pbft/core/log.hpp"
#include "pbft/core/patience.hpp"
#include "pbft/core/request_queue.hpp"
#include "pbft/core/retransmission.hpp"
#include "pbft/core/view_changer.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

// The parts, who gets which message, and what follows from progress.
class Replica::Machine {
 public:
  Machine(const ReplicaSettings& settings, const KeyRing& keys, InputSource& inputs,
          const QuorumRule& quorum)
      : context{settings, keys, quorum, keys.self(), inputs},
        log(settings.window + settings.retained_batches + 1, quorum.replicas),
        clients(settings.cached_reply_bytes_max),
        queue(context.settings, quorum.replicas),
        checkpoints(quorum),
        execution(context, log, clients, checkpoints),
        agreement(context, log, clients, checkpoints),
        patience(context.settings, clients),
        intake(context, clients, queue, execution, patience),
        view_changer(context, log, checkpoints, agreement, patience),
        retransmission(context, log, checkpoints, agreement, view_changer) {}

  bool dispatch(ByteView frame, TimePoint now, ReplicaActions& out);
  bool on_checkpoint(ByteView frame);
  bool on_hello(ByteView frame);
  void pump(TimePoint now, ReplicaActions& out);
  void release();
  [[nodiscard]] ReplicaStatus status() const;

  Context context;
  Log log;
  ClientTable clients;
  RequestQueue queue;
  Checkpoints checkpoints;
  ExecutionStage execution;
  Agreement agreement;
  Patience patience;
  Intake intake;
  ViewChanger view_changer;
  Retransmission retransmission;
};

bool Replica::Machine::dispatch(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context.drop(reason);
    return false;
  };
  ++context.counters.frames_received;
  if (frame.size() < kHeaderSize || frame.size() > kFrameBytesMax) {
    return refuse(DropReason::bad_length);
  }
  const auto header = peek_header(frame);
  if (!header) return refuse(DropReason::malformed);
  if (!context.takes_part()) return refuse(DropReason::not_serving);
  switch (header->type) {
    case MessageType::request:
      return intake.on_request(frame, now, out);
    case MessageType::forward:
      intake.on_forward(frame, now, out);
      return false;
    case MessageType::pre_prepare:
      return agreement.on_pre_prepare(frame, out);
    case MessageType::prepare:
    case MessageType::commit:
      return agreement.on_vote(header->type, frame, out);
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
    case MessageType::key_ask:
    case MessageType::key_tell:
    case MessageType::key_refusal:
      return refuse(DropReason::malformed);  // the shell has another place for them
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
  if (!is_replica(message->replica, context.quorum.replicas) || message->replica == context.self) {
    return refuse(DropReason::unknown_sender);
  }
  if (message->sequence <= checkpoints.stable().sequence) return false;  // late: the usual end
  if (!context.keys.verify_signature(message->replica, sha256(message->content),
                                     message->signature)) {
    return refuse(DropReason::bad_signature);
  }
  const CheckpointClaim claim{message->sequence, message->order, message->results};
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
      if (checkpoints.results_diverged()) ++context.counters.result_divergences;
      break;
  }
  return true;
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

void Replica::Machine::pump(TimePoint now, ReplicaActions& out) {
  for (bool progress = true; progress && context.takes_part();) {
    progress = false;
    if (view_changer.take_entered()) intake.on_new_view(out);
    for (Slot* slot = log.find(context.progress.last_ordered + 1);
         slot != nullptr && slot->phase == SlotPhase::committed;
         slot = log.find(context.progress.last_ordered + 1)) {
      execution.hand_out(*slot, out);
      progress = true;
    }
    progress = execution.advance(out) || progress;
    if (checkpoints.diverged()) context.state = ReplicaState::diverged;
    release();
    while (!queue.empty() && agreement.may_propose()) {
      agreement.propose(queue.take(), out);
      progress = true;
    }
  }
  view_changer.arm(now);
  retransmission.arm(now);
}

// Forgets what is stable and executed, but for what laggards may still ask for.
void Replica::Machine::release() {
  log.note_stable(checkpoints.stable().sequence);
  const std::uint64_t done =
      std::min(checkpoints.stable().sequence, context.progress.last_executed);
  const std::uint64_t retained = context.settings.retained_batches;
  if (done > retained) log.release_below(done - retained + 1);
  while (log.bytes() > context.settings.log_bytes_max / 2 && log.first_retained() <= done) {
    log.release_below(log.first_retained() + 1);
  }
}

ReplicaStatus Replica::Machine::status() const {
  ReplicaStatus status;
  status.state = context.state;
  status.view = context.view;
  status.primary = context.primary();
  status.view_change_cause = view_changer.cause();
  status.last_proposed = context.progress.last_proposed;
  status.last_ordered = context.progress.last_ordered;
  status.last_executed = context.progress.last_executed;
  status.last_stable = checkpoints.stable().sequence;
  status.log_batches = log.batches();
  status.log_bytes = log.bytes();
  status.queued_requests = queue.requests();
  status.queued_bytes = queue.bytes();
  status.cached_reply_bytes = clients.result_bytes();
  status.executions_in_flight = execution.in_flight();
  return status;
}

Replica::Replica(const ReplicaSettings& settings, const KeyRing& keys, InputSource& inputs)
    : Replica(settings, keys, inputs, QuorumRule::standard(settings.faults)) {}

Replica::Replica(const ReplicaSettings& settings, const KeyRing& keys, InputSource& inputs,
                 const QuorumRule& quorum)
    : machine_(std::make_unique<Machine>(settings, keys, inputs, quorum)) {
  ASSERT(check(settings).has_value());
  ASSERT(keys.replicas() == 3 * settings.faults + 1 && keys.self() < keys.replicas());
}

Replica::~Replica() = default;

bool Replica::on_frame(ByteView frame, TimePoint now, ReplicaActions& out) {
  machine_->context.now = now;
  const bool authentic = machine_->dispatch(frame, now, out);
  machine_->pump(now, out);
  return authentic;
}

void Replica::on_executed(std::uint64_t id, ExecutionStatus status, Bytes result, TimePoint now,
                          ReplicaActions& out) {
  machine_->context.now = now;
  machine_->execution.on_executed(id, status, std::move(result), out);
  machine_->pump(now, out);
}

void Replica::on_tick(TimePoint now, ReplicaActions& out) {
  machine_->context.now = now;
  if (machine_->context.takes_part()) {
    machine_->view_changer.on_tick(now, out);
    machine_->retransmission.on_tick(now, out);
  }
  machine_->pump(now, out);
}

TimePoint Replica::next_timer() const {
  if (!machine_->context.takes_part()) return TimePoint::max();
  return std::min(machine_->view_changer.next_timer(), machine_->retransmission.next_timer());
}

const ReplicaCounters& Replica::counters() const {
  return machine_->context.counters;
}
ReplicaStatus Replica::status() const {
  return machine_->status();
}

}  // namespace prophecy::pbft

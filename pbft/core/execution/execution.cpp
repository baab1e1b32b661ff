#include "pbft/core/execution/execution.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/state/always_full.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// A result this small is sent by every replica: it costs less than a lost designated reply.
// In memory, of operations by digest that are being executed: no further batch with such is begun
// beyond it.
constexpr std::uint64_t kCollectedBytesMax = std::uint64_t{16} << 20;
// Of the results of reads that wait for a batch to be committed.
constexpr std::uint64_t kHeldReadBytesMax = std::uint64_t{16} << 20;
// Each is signed, and a tree is built for it.
constexpr std::uint32_t kUntoldInEventMax = 2;

}  // namespace

ExecutionStage::ExecutionStage(Context& context, Log& log, ClientTable& clients,
                               Checkpoints& checkpoints, Snapshots& snapshots, PartStore& parts,
                               Bodies& bodies, UncertainWrites& writes)
    : context_(context),
      log_(log),
      clients_(clients),
      checkpoints_(checkpoints),
      snapshots_(snapshots),
      parts_(parts),
      bodies_(bodies),
      writes_(writes),
      history_(context.settings),
      epochs_(context.counters) {}

bool ExecutionStage::take(Slot& slot, ReplicaActions& out) {
  ASSERT(slot.sequence == context_.progress.last_ordered + 1);
  const bool is_committed = slot.phase == SlotPhase::committed;
  if (ahead_) {
    ASSERT(ahead_->sequence == slot.sequence);
    if (!is_committed || ahead_->is_contradicted) return false;
    if (slot.batch != ahead_->batch) {
      contradict();
      return false;
    }
    for (const Session* session : ahead_->sessions)
      ordered_.emplace_back(session->client, session->number);
    leave_ahead();
    count_as_ordered(slot);
    return true;
  }
  if (!is_committed && !may_run_ahead(slot)) return false;
  if (state_ != State::running || is_frozen_ || !has_sessions_) return false;
  if (slot.sequence > adopted_at_ && !collect(slot)) return false;
  if (is_committed) {
    count_as_ordered(slot);
  } else {
    ahead_ = Ahead{slot.sequence, slot.batch, false, {}};
    ++context_.counters.batches_executed_ahead;
  }
  hand_out(slot, out);
  return true;
}

void ExecutionStage::count_as_ordered(const Slot& slot) {
  context_.progress.last_ordered = slot.sequence;
  context_.journal.ordered(slot.sequence, slot.batch, slot.pre_prepare);
}

// 2f+1 replicas that say so of one view are as good as 2f+1 commits: f+1 of them are correct, and
// what they have prepared is what every later view begins with. So it has to be written down as
// prepared before a reply goes out, and a replica that may not vote says nothing.
bool ExecutionStage::may_run_ahead(const Slot& slot) const {
  return context_.settings.tentative_execution && !unreliable_ && !in_doubt_since_ &&
         slot.sequence > std::max(ahead_from_, adopted_at_) && slot.phase == SlotPhase::prepared &&
         context_.state == ReplicaState::normal && slot.prepared &&
         slot.prepared->view == context_.view && slot.prepared->batch == slot.batch;
}

void ExecutionStage::on_new_view() {
  // Up to the stable checkpoint, the view says nothing: what others have decided does, or a state.
  if (!ahead_ || ahead_->is_contradicted || ahead_->sequence <= checkpoints_.stable_sequence()) {
    return;
  }
  const Slot* slot = log_.find(ahead_->sequence);
  if (slot == nullptr || slot->phase == SlotPhase::empty || slot->batch != ahead_->batch) {
    contradict();
  }
}

void ExecutionStage::contradict() {
  ahead_->is_contradicted = true;
  // Whoever can bring that about should not be able to do so with each batch.
  ahead_from_ = ahead_->sequence + context_.settings.checkpoint_interval;
  ++context_.counters.batches_undone;
}

void ExecutionStage::leave_ahead() {
  for (Session* session : ahead_->sessions)
    session->is_ahead = false;
  ahead_.reset();
}

std::optional<std::uint64_t> ExecutionStage::tentative_view() const {
  ASSERT(ahead_.has_value());
  const Slot* slot = log_.find(ahead_->sequence);
  if (ahead_->is_contradicted || slot == nullptr || !slot->prepared ||
      slot->prepared->batch != ahead_->batch) {
    return std::nullopt;
  }
  return slot->prepared->view;
}

std::uint64_t ExecutionStage::start(const Pending& pending) {
  pending_.push_back(pending);
  ++in_flight_;
  if (!pending.read) ++ordered_in_flight_;
  return first_id_ + pending_.size() - 1;
}

bool ExecutionStage::collect(Slot& slot) {
  collected_.clear();
  if (slot.bodies.empty()) return true;
  if (!all_whole(slot.bodies)) return false;
  note_requests(slot);
  std::size_t body = 0;
  for (const BatchRequest& request : slot.requests) {
    if (!request.by_digest) continue;
    const BodyHandle& handle = slot.bodies.at(body++);
    const Session& session = clients_.session(request.client, request.session);
    const bool is_repeated = request.timestamp <= session.last_timestamp;
    auto& operation = collected_.emplace_back();
    if (is_repeated) continue;
    if (collected_in_flight_ >= kCollectedBytesMax) return false;
    auto opened = bodies_.open(handle);
    if (!opened) return false;
    operation = std::move(*opened);
  }
  return true;
}

// Not there when it was executed before, and is to be executed once more.
void ExecutionStage::note_requests(Slot& slot) const {
  if (!slot.requests.empty() || slot.pre_prepare == nullptr) return;
  const auto message = decode_pre_prepare(*slot.pre_prepare, context_.quorum.replicas);
  ASSERT(message.has_value());
  slot.requests = batch_requests(*message, *slot.pre_prepare);
  slot.input = message->input;
}

void ExecutionStage::hand_out(Slot& slot, ReplicaActions& out) {
  ASSERT(slot.execution == SlotExecution::none);
  slot.execution = SlotExecution::executing;
  note_requests(slot);
  // A primary's clock may be behind that of the one before it. Time stands still then, at all
  // replicas alike, and nothing has to be refused for the order in which it was proposed.
  context_.progress.agreed_time = std::max(context_.progress.agreed_time, slot.input.time);
  const bool is_adopted = slot.sequence <= adopted_at_;
  std::size_t body = 0;
  for (std::size_t index = 0; index < slot.requests.size(); ++index) {
    const BatchRequest& request = slot.requests[index];
    slot.operation_bytes += request.operation_size;
    const bool is_collected = request.by_digest && !is_adopted;
    const BodyHandle handle = is_collected ? slot.bodies.at(body) : nullptr;
    const BodyOperation collected =
        is_collected ? std::move(collected_.at(body++)) : BodyOperation{};
    Session& session = clients_.session(request.client, request.session);
    if (request.timestamp <= session.last_timestamp) {
      ++context_.counters.requests_repeated;
      if (request.timestamp == session.last_timestamp) repeat_reply(session, out);
      continue;
    }
    clients_.begin(session, request.timestamp);
    Bytes refusal = epochs_.pass(request.epoch);
    if (ahead_) {
      session.is_ahead = true;
      ahead_->sessions.push_back(&session);
    }
    if (!ahead_) ordered_.emplace_back(request.client, request.session);
    Pending pending;
    pending.client = request.client;
    pending.session = request.session;
    pending.timestamp = request.timestamp;
    pending.replier = request.replier;
    pending.sigma = (slot.sequence << 16) | index;
    if (is_adopted) {
      pass_over(pending, session, out);
      continue;
    }
    if (request.by_digest) {
      pending.collected_bytes = collected.front->size();
      pending.body = handle;
      collected_in_flight_ += pending.collected_bytes;
    }
    const std::shared_ptr<const Bytes>& storage =
        request.by_digest ? collected.front : slot.pre_prepare;
    const ByteView operation =
        request.by_digest
            ? ByteView(*storage)
            : ByteView(*storage).subspan(request.operation_at, request.operation_size);
    out.executions.push_back(
        {start(pending), pending.sigma, false, ahead_.has_value(), storage, operation,
         AgreedInput{context_.progress.agreed_time,
                     seed_of_request(slot.input.seed, static_cast<std::uint16_t>(index))},
         collected.whole, std::move(refusal)});
    ++slot.results_missing;
  }
  slot.requests = {};
  if (slot.results_missing == 0) slot.execution = SlotExecution::executed;
  if (history_.append(slot)) state_ = State::draining;
}

void ExecutionStage::read(const RequestMessage& request, ByteView frame, ReplicaActions& out) {
  Session& session = clients_.session(request.client, request.session);
  if (request.timestamp < session.read_timestamp) {
    return context_.drop(DropReason::stale_timestamp);
  }
  const bool repeated = request.timestamp == session.read_timestamp;
  session.read_full_reply = repeated;
  if (repeated && session.read_in_flight) return context_.drop(DropReason::duplicate);
  if (repeated && !ClientTable::may_read_again(session, context_.now)) {
    return context_.drop(DropReason::rate_limited);
  }
  if (reads_in_flight_ >= context_.settings.reads_in_flight_max || to_restore_) {
    return context_.drop(DropReason::queue_full);
  }
  session.read_timestamp = request.timestamp;
  if (context_.is_silent() || context_.progress.last_executed < context_.reads_from) {
    Pending refused;
    refused.client = request.client;
    refused.session = request.session;
    refused.timestamp = request.timestamp;
    return send_reply(refused, ReplyStatus::unavailable, Digest{}, {}, false, out);
  }
  session.read_in_flight = true;
  ++reads_in_flight_;
  Pending pending;
  pending.read = true;
  pending.restores = restores_;
  pending.client = request.client;
  pending.session = request.session;
  pending.timestamp = request.timestamp;
  pending.replier = request.replier;
  auto storage = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto within = static_cast<std::size_t>(request.operation.data() - frame.data());
  const ByteView operation = ByteView(*storage).subspan(within, request.operation.size());
  out.executions.push_back(
      {start(pending), 0, true, false, std::move(storage), operation, {}, nullptr});
}

void ExecutionStage::on_executed(std::uint64_t id, ExecutionStatus status, Bytes result,
                                 ReplicaActions& out) {
  ASSERT(id >= first_id_ && id - first_id_ < pending_.size());
  Pending& entry = pending_[id - first_id_];
  ASSERT(!entry.finished);
  if (status == ExecutionStatus::uncertain) {
    if (!entry.read) return begin_comparison(id, entry.sigma, std::move(result), out);
    status = ExecutionStatus::unavailable;
  }
  entry.finished = true;
  const Pending pending = entry;
  while (!pending_.empty() && pending_.front().finished) {
    pending_.pop_front();
    ++first_id_;
  }
  --in_flight_;
  if (!pending.read) --ordered_in_flight_;
  collected_in_flight_ -= pending.collected_bytes;
  if (status == ExecutionStatus::lost && !pending.read) unreliable_ = true;
  // Whether a read came before the state was replaced or after it, nobody can tell. Nor whether the
  // write that is compared, which it may have seen, stays.
  if (pending.read && (pending.restores != restores_ || uncertain_)) {
    status = ExecutionStatus::unavailable;
  }

  // What a service says that may have missed a write is no vote.
  const bool done = !is_unreliable() && !in_doubt_since_ && status == ExecutionStatus::done &&
                    result.size() <= kResultBytesMax;
  if (!done) {
    ++context_.counters.executions_unavailable;
    result.clear();
  }
  const ReplyStatus reply = done ? ReplyStatus::done : ReplyStatus::unavailable;
  const Digest digest = done ? sha256(result) : Digest{};
  if (pending.read) {
    finish_read(pending, reply, digest, std::move(result), out);
  } else {
    finish_ordered(pending, reply, digest, std::move(result), out);
  }
}

void ExecutionStage::finish_ordered(const Pending& pending, ReplyStatus status,
                                    const Digest& digest, Bytes result, ReplicaActions& out) {
  Slot* slot = log_.find(pending.sigma >> 16);
  ASSERT(slot != nullptr && slot->execution == SlotExecution::executing &&
         slot->results_missing > 0);
  if (--slot->results_missing == 0) slot->execution = SlotExecution::executed;
  ++context_.counters.requests_executed;

  // It will be executed once more, on the right state, and answered then.
  if (is_unreliable()) return;
  Session& session = clients_.session(pending.client, pending.session);
  const bool full = context_.self == pending.replier || result.size() <= kAlwaysFullBytes ||
                    session.full_reply_timestamp == pending.timestamp;
  send_reply(pending, status, digest, result, full, out);
  // The session may have gone on, when its client gave this request up.
  if (session.last_timestamp != pending.timestamp) return;
  clients_.set_reply(session, status, pending.sigma, digest);
  if (status != ReplyStatus::done) return;
  context_.counters.cached_replies_dropped += clients_.keep_result(session, std::move(result));
}

void ExecutionStage::finish_read(const Pending& pending, ReplyStatus status, const Digest& digest,
                                 Bytes result, ReplicaActions& out) {
  if (!ahead_ || status != ReplyStatus::done) {
    return answer_read(pending, status, digest, result, out);
  }
  // Its client may be told only of what is ordered.
  if (held_read_bytes_ + result.size() > kHeldReadBytesMax) {
    return answer_read(pending, ReplyStatus::unavailable, Digest{}, {}, out);
  }
  held_read_bytes_ += result.size();
  held_reads_.push_back({pending, digest, std::move(result), ahead_->sequence});
}

void ExecutionStage::answer_read(const Pending& pending, ReplyStatus status, const Digest& digest,
                                 const Bytes& result, ReplicaActions& out) {
  --reads_in_flight_;
  ++context_.counters.reads_executed;
  Session& session = clients_.session(pending.client, pending.session);
  bool full = context_.self == pending.replier || result.size() <= kAlwaysFullBytes;
  if (session.read_timestamp == pending.timestamp) {
    session.read_in_flight = false;
    full = full || session.read_full_reply;
  }
  send_reply(pending, status, digest, result, full, out);
}

void ExecutionStage::answer_held_reads(ReplicaActions& out) {
  while (!held_reads_.empty()) {
    HeldRead& first = held_reads_.front();
    const bool is_undone = first.pending.restores != restores_;
    if (!is_undone && first.ahead > context_.progress.last_ordered) return;
    const HeldRead held = std::move(first);
    held_reads_.pop_front();
    held_read_bytes_ -= held.result.size();
    if (is_undone) {
      answer_read(held.pending, ReplyStatus::unavailable, Digest{}, {}, out);
    } else {
      answer_read(held.pending, ReplyStatus::done, held.digest, held.result, out);
    }
  }
}

void ExecutionStage::repeat_reply(Session& session, ReplicaActions& out) {
  if (session.reply == Session::Reply::awaited) return;
  if (!clients_.may_repeat(session, context_.now)) return context_.drop(DropReason::rate_limited);
  Pending pending;
  pending.client = session.client;
  pending.session = session.number;
  pending.timestamp = session.last_timestamp;
  // Its client need not wait for it: what the others say may suffice, or never will.
  if (session.reply == Session::Reply::lost) {
    return send_reply(pending, ReplyStatus::unavailable, Digest{}, {}, false, out);
  }
  pending.sigma = session.sigma;
  auto reply = reply_to(pending, session.status, session.digest);
  if (!reply) return;
  reply->full = session.has_result && session.status == ReplyStatus::done;
  const Session::RepeatedAs as{reply->view, reply->tentative, context_.keys.generation()};
  Frame frame = session.repeated;
  if (!reply->full || session.repeated_as != as) {
    reply->result = session.result();
    frame = encode_reply(*reply, context_.keys);
  }
  if (reply->full) {
    session.repeated = frame;
    session.kept = {};
    session.repeated_as = as;
  }
  out.sends.push_back({session.client, session.number, std::move(frame)});
  ++context_.counters.replies_repeated;
  ++context_.counters.replies_sent;
}

std::optional<ReplyMessage> ExecutionStage::reply_to(const Pending& pending, ReplyStatus status,
                                                     const Digest& digest) const {
  if (!context_.takes_part()) return std::nullopt;
  ReplyMessage reply;
  reply.view = context_.view;
  if (pending.sigma >> 16 > context_.progress.last_ordered) {
    const auto view = tentative_view();
    if (!view) return std::nullopt;
    reply.view = *view;
    reply.tentative = true;
  }
  reply.client = pending.client;
  reply.session = pending.session;
  reply.timestamp = pending.timestamp;
  reply.sigma = pending.sigma;
  reply.status = status;
  reply.result_digest = digest;
  return reply;
}

void ExecutionStage::send_reply(const Pending& pending, ReplyStatus status, const Digest& digest,
                                ByteView result, bool full, ReplicaActions& out) {
  auto reply = reply_to(pending, status, digest);
  if (!reply) return;
  reply->full = full && status == ReplyStatus::done;
  reply->result = result;
  out.sends.push_back({pending.client, pending.session, encode_reply(*reply, context_.keys)});
  ++context_.counters.replies_sent;
}

bool ExecutionStage::advance(ReplicaActions& out) {
  bool advanced = false;
  if (uncertain_ && uncertain_->is_seen) {
    if (is_unreliable() || to_restore_) {
      // A service that is only contradicted is well: it is restored without waiting for its return.
      const bool is_well = is_merely_contradicted() && !to_restore_;
      end_comparison(is_well ? ExecutionStatus::unavailable : ExecutionStatus::lost, out);
      advanced = true;
    } else if (writes_.is_agreed()) {
      ++context_.counters.writes_settled;
      end_comparison(ExecutionStatus::done, out);
      advanced = true;
    }
  }
  answer_held_reads(out);
  while (context_.progress.last_executed < context_.progress.last_ordered) {
    const Slot* slot = log_.find(context_.progress.last_executed + 1);
    if (slot == nullptr || slot->execution != SlotExecution::executed) break;
    advanced = true;
    ++context_.progress.last_executed;
    ++context_.counters.batches_executed;
  }
  if (is_drained()) {
    ASSERT(context_.progress.last_executed == context_.progress.last_ordered);
    if (is_untold() && untold_in_event_ == kUntoldInEventMax) return advanced;
    advanced = true;
    if (is_untold()) {
      ++untold_in_event_;
      take_checkpoint(Digest{}, out);
    } else {
      state_ = State::snapshotting;
      out.snapshot = context_.progress.last_executed;
    }
  } else if (state_ == State::quiescing && ordered_in_flight_ == 0) {
    state_ = State::restoring;
    out.restore = Restore{to_restore_->sequence, to_restore_->service};
    advanced = true;
  }
  return advanced;
}

TimePoint ExecutionStage::next_timer() const {
  return is_drained() && is_untold() ? context_.now : TimePoint::max();
}

void ExecutionStage::on_service_lost() {
  unreliable_ = true;
  if (state_ == State::restoring) lost_while_restoring_ = true;
}

void ExecutionStage::on_snapshot(const Digest& service, ReplicaActions& out) {
  if (uncertain_) {
    ASSERT(!uncertain_->is_seen);
    uncertain_->is_seen = true;
    uncertain_->since = context_.now;
    uncertain_->write.state = service;
    if (service == Digest{}) ++context_.counters.snapshots_failed;
    hold_looked_at(service);
    return writes_.compare(uncertain_->write, out);
  }
  ASSERT(state_ == State::snapshotting);
  if (service == Digest{}) ++context_.counters.snapshots_failed;
  // Whatever no checkpoint takes of it goes with the second.
  hold_looked_at(service);
  take_checkpoint(unreliable_ ? Digest{} : service, out);
  hold_looked_at({});
  if (to_restore_) state_ = State::quiescing;
}

bool ExecutionStage::may_begin_at_zero() const {
  return state_ == State::running && context_.progress.last_ordered == 0 &&
         !context_.membership.state_lost;
}

void ExecutionStage::begin_at_zero(ReplicaActions& out) {
  ASSERT(may_begin_at_zero());
  unreliable_ = false;
  state_ = State::snapshotting;
  out.snapshot = 0;
}

void ExecutionStage::take_checkpoint(const Digest& service, ReplicaActions& out) {
  state_ = State::running;
  CheckpointClaim claim{context_.progress.last_executed, {}, {}, service};
  const auto [roots, is_kept] = sessions_.build(
      clients_,
      {claim.sequence, history_.digest(), context_.progress.agreed_time, epochs_.newest()}, parts_);
  claim.order = roots.order;
  // In doubt it has given no replies that others could repeat.
  const bool has_answered = !unreliable_ && !in_doubt_since_ && claim.sequence >= adopted_at_;
  if (has_answered) claim.replies = roots.replies;
  // Without the order there is no state to begin from, here or elsewhere. It is said all the same:
  // what was ordered does not depend on a disk.
  if (!is_kept) claim.service = {};
  // To what may be wrong there is no way back.
  const bool is_added = is_kept && !unreliable_ && snapshots_.add(claim);
  if (!is_added && !unreliable_) ++context_.counters.snapshots_failed;
  hold(unreliable_ ? std::vector{roots.order, roots.replies} : std::vector<Digest>{});
  if (claim.sequence == 0) return;
  context_.journal.executed_to_checkpoint(out);
  Frame frame = encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service,
                                  context_.keys, context_.membership.incarnation);
  context_.send_to_peers(frame, out);
  checkpoints_.keep_own(claim, frame);
  const Checkpoints::Outcome outcome = checkpoints_.record(context_.self, claim, std::move(frame));
  if (outcome == Checkpoints::Outcome::stable) ++context_.counters.checkpoints_stable;
}

// The next tree is built upon the parts of this one, which no snapshot pins; those of the one
// before go.
void ExecutionStage::hold(std::vector<Digest> roots) {
  std::erase_if(roots, [&](const Digest& root) { return !parts_.pin(root); });
  for (const Digest& before : std::exchange(held_roots_, std::move(roots)))
    parts_.unpin(before);
}

void ExecutionStage::begin_restore(const CheckpointClaim& claim) {
  to_restore_ = claim;
  is_frozen_ = false;
  ++restores_;
  if (state_ == State::running || state_ == State::draining) state_ = State::quiescing;
}

ExecutionStage::Restored ExecutionStage::on_restored(bool done) {
  ASSERT(state_ == State::restoring);
  const CheckpointClaim claim = *to_restore_;
  to_restore_.reset();
  state_ = State::running;
  const bool lost_again = std::exchange(lost_while_restoring_, false);
  if (!done || lost_again || !load(claim)) {
    // Whatever the service is now, it is not the group's state.
    unreliable_ = true;
    ++context_.counters.restores_failed;
    return done && lost_again ? Restored::lost_again : Restored::failed;
  }
  unreliable_ = false;
  in_doubt_since_.reset();
  ++context_.counters.states_restored;
  return Restored::done;
}

bool ExecutionStage::load(const CheckpointClaim& claim) {
  const auto root = read_order_root(parts_, claim.order);
  sessions_.clear();
  is_loaded_ = true;
  hold({});
  has_sessions_ = false;
  if (!root || root->sequence != claim.sequence ||
      !load_sessions(parts_, {claim.order, claim.replies}, clients_)) {
    return false;
  }
  history_.reset(root->history);
  epochs_.reset(root->epoch);
  Progress& progress = context_.progress;
  const auto forget = [&](std::uint64_t sequence) {
    if (Slot* slot = log_.find(sequence)) log_.forget_execution(*slot);
  };
  for (std::uint64_t sequence = claim.sequence + 1; sequence <= progress.last_ordered; ++sequence)
    forget(sequence);
  context_.reads_from = std::max(context_.reads_from, progress.last_ordered);
  if (ahead_) {
    // Wherever the state goes on: what was not committed is not to pass for what was.
    forget(ahead_->sequence);
    // A client may have been told of it.
    if (!is_contradicted()) context_.reads_from = std::max(context_.reads_from, ahead_->sequence);
    leave_ahead();
  }
  log_.forget_unexecuted(1, claim.sequence);
  has_sessions_ = true;
  progress.last_ordered = claim.sequence;
  progress.last_executed = claim.sequence;
  progress.agreed_time = root->agreed_time;
  progress.last_proposed = std::max(progress.last_proposed, claim.sequence);
  checkpoints_.forget_own_above(claim.sequence);
  snapshots_.forget_above(claim.sequence);
  context_.journal.forget_ordered();
  return true;
}

}  // namespace prophecy::pbft

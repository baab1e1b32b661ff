#include "pbft/core/ordering/agreement.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/wire/authenticated.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/encode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// A primary proposes a few batches ahead of what it has ordered. A backup that has missed more than
// this comes to know the rest with what it has missed.
constexpr std::uint64_t kAheadMin = 256;

std::uint64_t nanoseconds_of(Duration duration) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

// Of those that it names by their digests.
std::uint64_t bodies_bytes(const PrePrepareMessage& message) {
  std::uint64_t bytes = 0;
  for (const RequestMessage& request : message.requests)
    bytes += request.body ? request.body->size : 0;
  return bytes;
}

std::uint32_t names_bodies(const PrePrepareMessage& message) {
  return static_cast<std::uint32_t>(
      std::count_if(message.requests.begin(), message.requests.end(),
                    [](const RequestMessage& request) { return request.body.has_value(); }));
}

// Signatures of batches that were refused, in each interval of Payments.
constexpr std::uint64_t kSignaturesInVainMax = 2 * kBatchSignaturesMax;
// Decisions come again with each Status. Those of different times are not added up: replicas that
// were faulty once may be correct now, while others are faulty.
constexpr Duration kDecisionsCountFor = seconds(2);

}  // namespace

Agreement::BatchDigests Agreement::digests_of(const PrePrepareMessage& message) {
  BatchDigests digests;
  digests.requests.reserve(message.requests.size());
  Sha256 chain;
  for (const RequestMessage& request : message.requests) {
    chain.update(digests.requests.emplace_back(sha256(request.content)));
  }
  append_to_batch(chain, message.input);
  digests.batch = chain.finish();
  return digests;
}

std::uint64_t Agreement::high_water_mark() const {
  return std::min({checkpoints_.stable_sequence() + context_.settings.window,
                   log_.first_retained() + log_.capacity() - 1, context_.restart_reach,
                   kSequenceMax});
}

// A number that is ordered may have to be agreed on again in a new view, for the others' sake.
std::uint64_t Agreement::settled() const {
  const std::uint64_t ordered = context_.progress.last_ordered;
  if (views_entered_then_ != context_.counters.views_entered) {
    views_entered_then_ = context_.counters.views_entered;
    settled_ = 0;
  }
  settled_ = std::max(settled_, std::min(checkpoints_.stable_sequence(), ordered));
  // It may have gone back to an earlier state.
  settled_ = std::min(settled_, ordered);
  for (; settled_ < ordered; ++settled_) {
    const Slot* slot = log_.find(settled_ + 1);
    if (slot == nullptr || slot->phase != SlotPhase::committed) break;
  }
  return settled_;
}

std::uint64_t Agreement::committed_from(std::uint64_t done) const {
  for (const Slot* slot = log_.find(done + 1);
       slot != nullptr && slot->phase == SlotPhase::committed; slot = log_.find(done + 1)) {
    ++done;
  }
  return done;
}

void Agreement::note_agreed() {
  if (checkpoints_.stable_sequence() >= last_view_ends_) bodies_of_last_view_.clear();
  const std::uint64_t ordered = context_.progress.last_ordered;
  const Slot* slot = log_.find(ordered + 1);
  if (slot == nullptr || slot->phase != SlotPhase::committed) {
    noted_ = ordered;
    return;
  }
  // In a new view some may have to be committed again; nothing else will be there.
  for (noted_ = std::max(noted_, ordered); (slot = log_.find(noted_ + 1)) != nullptr; ++noted_) {
    if (slot->phase != SlotPhase::committed) return;
    for (const BatchRequest& request : slot->requests) {
      Session& session = clients_.session(request.client, request.session);
      session.agreed_timestamp = std::max(session.agreed_timestamp, request.timestamp);
    }
  }
}

std::uint64_t Agreement::settled_by_group() const {
  const std::uint64_t ordered = context_.progress.last_ordered;
  const std::uint64_t stable = checkpoints_.stable_sequence();
  return stable <= ordered ? ordered : committed_from(stable);
}

bool Agreement::may_propose(bool full) const {
  if (!context_.is_primary() || context_.state != ReplicaState::normal) return false;
  const Progress& progress = context_.progress;
  const ReplicaSettings& settings = context_.settings;
  const std::uint32_t in_flight_max =
      full ? settings.batches_in_flight_max : settings.partial_batches_in_flight_max;
  // A primary that waits for a state goes on; one whose service is at work, no faster than that.
  const std::uint64_t done = context_.is_service_at_work ? done_by_service() : settled_by_group();
  return progress.last_proposed >= done && progress.last_proposed - done < in_flight_max &&
         progress.last_proposed < high_water_mark() &&
         log_.reaches(progress.last_proposed + 1) &&  // behind a stable checkpoint it may not
         context_.may_vote(progress.last_proposed + 1) &&
         log_.view_bytes() < context_.settings.log_bytes_max && !context_.is_record_full();
}

void Agreement::propose(RequestQueue::Batch batch, ReplicaActions& out) {
  ASSERT(may_propose(true));
  const std::uint64_t sequence = ++context_.progress.last_proposed;
  const AgreedInput input{context_.inputs.wall_time(), context_.inputs.fresh_seed()};
  auto [frame, digest] = batch.builder.finish(context_.view, sequence, input, context_.keys);
  context_.send_to_peers(frame, out);
  ++context_.counters.batches_proposed;
  Slot& slot = log_.open(sequence);
  note_proposal(slot, digest, frame, batch.bodies, out);
  slot.batch = digest;
  slot.requests = std::move(batch.requests);
  slot.input = input;
  log_.set_pre_prepare(slot, std::move(frame), std::move(batch.bodies));
  pre_prepare(slot, out);
}

bool Agreement::admits(const PrePrepareMessage& head) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  if (head.view != context_.view || context_.state != ReplicaState::normal) {
    return refuse(DropReason::wrong_view);
  }
  if (head.primary != context_.primary() || context_.is_primary()) {
    return refuse(DropReason::unknown_sender);
  }
  if (head.sequence <= context_.progress.last_ordered || head.sequence < log_.first_retained()) {
    return refuse(DropReason::duplicate);
  }
  if (head.sequence <= context_.dropped_until) return refuse(DropReason::duplicate);
  if (head.sequence <= context_.chosen_until) return refuse(DropReason::conflicting);
  if (head.sequence > high_water_mark() || is_far_ahead(head.sequence)) {
    // It has been sent in time, and comes again once this replica has room for it.
    times_.note_beyond(std::min(head.sequence, high_water_mark() + context_.settings.window));
    return refuse(DropReason::outside_water_marks);
  }
  // Counted anew in each view: what a faulty primary leaves behind is in no other one's way.
  if (log_.view_bytes() >= 2 * context_.settings.log_bytes_max || leaves_too_much(head) ||
      context_.journal.stable_bytes() >= context_.restart_bytes) {
    return refuse(DropReason::queue_full);
  }
  return true;
}

// A new view fills the numbers below a batch that was prepared with empty batches, each of which is
// agreed on: a faulty primary would make thousands of them with one proposal at the end of the
// window.
bool Agreement::is_far_ahead(std::uint64_t sequence) const {
  const std::uint64_t ahead_max =
      std::max<std::uint64_t>(kAheadMin, 2 * context_.settings.batches_in_flight_max);
  std::uint64_t known = std::max(context_.progress.last_ordered, checkpoints_.stable_sequence());
  if (sequence <= known + ahead_max) return false;
  known = std::max(known, log_.first_retained() - 1);
  for (const Slot* slot = log_.find(known + 1); slot != nullptr && slot->phase != SlotPhase::empty;
       slot = log_.find(known + 1)) {
    ++known;
  }
  return sequence > known + ahead_max;
}

bool Agreement::on_pre_prepare(ByteView frame, ReplicaActions& out) {
  const auto head = decode_pre_prepare_head(frame);
  if (!head) {
    context_.drop(DropReason::malformed);
    return false;
  }
  Slot* known = log_.find(head->sequence);
  if (known != nullptr && may_take_up(*known)) {
    return on_content(*known, frame, *head, out);
  }
  const bool is_decided = known != nullptr && is_awaited_proposal(*known, *head);
  if (!is_decided && !admits(*head)) return false;
  auto copy = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto message = decode_pre_prepare(*copy, context_.quorum.replicas);
  // The bounds are for new proposals. Content that is agreed on (on_content()) may be older than
  // they are.
  if (!message || (message->requests.size() > 1 && (message->overhead > kBatchOverheadMax ||
                                                    names_bodies(*message) > kBatchBodiesMax))) {
    context_.drop(DropReason::malformed);
    return false;
  }
  const BatchDigests digests = digests_of(*message);
  if (!context_.keys.verify_authenticator(message->primary, content_digest(*message, digests.batch),
                                          message->authenticator)) {
    context_.drop(context_.mac_failure(message->primary));
    return false;
  }
  Slot& slot = log_.open(message->sequence);
  if (is_decided && digests.batch == slot.batch) {
    slot.is_proposed = true;
    vote_for_decided(slot, out);
    return true;
  }
  if (slot.phase != SlotPhase::empty) {
    // The others may have decided on the committed batch in a later view than this primary's.
    const bool is_other = slot.batch != digests.batch && slot.phase != SlotPhase::committed;
    context_.drop(is_other ? DropReason::conflicting : DropReason::duplicate);
    return true;
  }
  const auto refuse = [&](DropReason reason) {
    context_.refused_until = std::max(context_.refused_until, message->sequence);
    context_.drop(reason);
    return true;
  };
  if (bodies_bytes(*message) > context_.settings.body_bytes_max + kBatchBytesMax) {
    return refuse(DropReason::queue_full);
  }
  if (!is_timely(*message)) return refuse(DropReason::time_refused);
  if (!vouched_for(*message, digests)) {
    times_.note_shown(message->sequence, digests.batch, done());
    return refuse(DropReason::bad_mac);
  }
  note_taken(slot, digests.batch);
  if (!context_.relay) note_named(message->sequence);
  slot.batch = digests.batch;
  slot.phase = SlotPhase::awaited;
  slot.proposer = message->primary;
  take_up(slot, std::move(copy), &*message, out);
  return true;
}

// Whoever has brought it: a primary that sends what it has kept back once it is asked for is no
// better than one that leaves that to others. A faulty backup cannot vote for a batch before it is
// proposed: it does not know the digest.
void Agreement::note_taken(const Slot& slot, const Digest& batch) {
  const std::uint32_t commits = slot.commits.count(batch);
  times_.note_taken({.sequence = slot.sequence,
                     .batch = batch,
                     .is_weak = commits >= context_.quorum.weak,
                     .is_committed = commits >= context_.quorum.committed,
                     .is_named = context_.named_by_primary >= slot.sequence},
                    context_.now, done());
}

// Of those that it may not vote on it vouches for nothing either.
void Agreement::note_proposal(Slot& slot, const Digest& batch, const Frame& content,
                              const std::vector<BodyHandle>& bodies, ReplicaActions& out) {
  log_.note_proposal(slot, batch, context_.view, content, bodies);
  if (context_.may_vote(slot.sequence)) {
    context_.journal.proposed(slot.sequence, batch, context_.view, content, out);
  }
}

void Agreement::pre_prepare(Slot& slot, ReplicaActions& out) {
  ASSERT(context_.state == ReplicaState::normal);
  slot.phase = SlotPhase::pre_prepared;
  vote_to_prepare(slot, out);
  advance(slot, out);
}

void Agreement::vote_to_prepare(Slot& slot, ReplicaActions& out) {
  if (context_.is_primary() || !context_.may_vote(slot.sequence)) return;
  slot.own_prepare =
      encode_vote(MessageType::prepare, context_.view, slot.sequence, slot.batch, context_.keys);
  slot.prepares.record(context_.self, slot.batch);
  context_.send_to_peers(slot.own_prepare, out);
}

void Agreement::vote_to_commit(Slot& slot, ReplicaActions& out) {
  slot.own_commit =
      encode_vote(MessageType::commit, context_.view, slot.sequence, slot.batch, context_.keys);
  slot.commits.record(context_.self, slot.batch);
  context_.send_to_peers(slot.own_commit, out);
}

// Others may need the votes: faulty replicas can show decisions to some, and withhold their votes
// from others. The Commit names no view in which this replica has prepared the batch, so it is no
// entry of P. None is needed: those that committed the batch first were prepared.
void Agreement::vote_for_decided(Slot& slot, ReplicaActions& out) {
  if (context_.state != ReplicaState::normal || !context_.may_vote(slot.sequence) ||
      slot.sequence <= checkpoints_.stable_sequence()) {
    return;
  }
  if (slot.is_proposed && slot.own_prepare == nullptr && may_prepare_with(slot.bodies)) {
    note_proposal(slot, slot.batch, slot.pre_prepare, slot.bodies, out);
    vote_to_prepare(slot, out);
  }
  if (slot.own_commit == nullptr) vote_to_commit(slot, out);
  if (awaits_prepare(slot)) awaiting_bodies_.insert(slot.sequence);
}

// The view's own proposal comes after others' decisions on it. They are in its favour.
bool Agreement::is_awaited_proposal(const Slot& slot, const PrePrepareMessage& head) const {
  return slot.phase == SlotPhase::committed && !slot.is_proposed && slot.own_prepare == nullptr &&
         context_.state == ReplicaState::normal && head.view == context_.view &&
         head.primary == context_.primary() && !context_.is_primary() &&
         slot.sequence > checkpoints_.stable_sequence();
}

void Agreement::on_membership(ReplicaActions& out) {
  if (context_.state != ReplicaState::normal) return;
  for (std::uint64_t sequence = log_.first_retained(); sequence <= log_.highest_known();
       ++sequence) {
    Slot* slot = log_.find(sequence);
    if (slot == nullptr || slot->own_commit != nullptr ||
        (slot->phase != SlotPhase::pre_prepared && slot->phase != SlotPhase::prepared)) {
      continue;
    }
    note_proposal(*slot, slot->batch, slot->pre_prepare, slot->bodies, out);
    pre_prepare(*slot, out);
  }
}

bool Agreement::is_timely(const PrePrepareMessage& message) {
  const std::uint64_t own = context_.inputs.wall_time();
  const std::uint64_t proposed = message.input.time;
  const std::uint64_t apart = proposed > own ? proposed - own : own - proposed;
  if (apart <= nanoseconds_of(context_.settings.agreed_time_tolerance)) return true;
  context_.counters.last_time_refused = {message.primary, proposed, own};
  return false;
}

// A batch that is refused may be sent again and again. MACs, and what others vote for, are enough
// for what a correct primary proposes behind such ones.
bool Agreement::vouched_for(const PrePrepareMessage& message, const BatchDigests& digests) {
  const bool may_check =
      signatures_in_vain_.is_left(kSignaturesInVainMax, Payments::kInterval, context_.now);
  bool all_authentic = true;
  std::uint32_t signatures = 0;  // no correct primary makes a batch that takes more
  for (std::size_t i = 0; i < message.requests.size(); ++i) {
    const RequestMessage& request = message.requests[i];
    if (request.read_only || !context_.keys.knows(request.client)) {
      signatures_in_vain_.charge(signatures);
      return false;
    }
    if (context_.keys.verify_authenticator(request.client,
                                           authenticated_digest(request, digests.requests[i]),
                                           request.authenticator, request.session)) {
      continue;
    }
    // Nothing is gained by a further one when the batch cannot be taken for its own sake any more.
    if (may_check && all_authentic && !request.signature.empty() &&
        signatures++ < kBatchSignaturesMax &&
        context_.is_signed_by(request.client, digests.requests[i], request.signature)) {
      continue;
    }
    // The part for this replica may be damaged, but the client may have sent the request itself.
    const Session& session = clients_.session(request.client, request.session);
    if (session.known_timestamp == request.timestamp &&
        session.known_digest == digests.requests[i]) {
      continue;
    }
    all_authentic = false;
    // Not of a client whose process has not told its key yet: no MAC of it can be right.
    if (may_check && context_.keys.has_key(request.client, request.session)) {
      clients_.note_wrong_mac(request.client, message.primary, context_.now);
    }
  }
  if (all_authentic) return true;
  // Of f+1 replicas that stand for the batch, one is correct and has seen valid MACs, so clients
  // cannot be spoken for. The primary stands for it by proposing it.
  const Slot* slot = log_.find(message.sequence);
  if (slot != nullptr && 1 + slot->prepares.count(digests.batch) >= context_.quorum.weak) {
    return true;
  }
  signatures_in_vain_.charge(signatures);
  return false;
}

bool Agreement::on_vote(MessageType type, ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto vote = decode_vote(frame, type, context_.quorum.replicas);
  if (!vote) return refuse(DropReason::malformed);
  const bool prepare = type == MessageType::prepare;
  if (vote->view != context_.view || context_.state != ReplicaState::normal) {
    return refuse(DropReason::wrong_view);
  }
  if (!is_replica(vote->replica, context_.quorum.replicas) || vote->replica == context_.self ||
      (prepare && vote->replica == context_.primary())) {
    return refuse(DropReason::unknown_sender);
  }
  if (vote->sequence > high_water_mark()) return refuse(DropReason::outside_water_marks);
  // Votes beyond a quorum are the normal end of every batch. They are not worth a MAC.
  if (vote->sequence <= checkpoints_.stable_sequence() || vote->sequence < log_.first_retained()) {
    return false;
  }
  Slot& slot = log_.open(vote->sequence);
  if (slot.phase >= SlotPhase::committed || slot.phase == SlotPhase::certified ||
      (prepare && slot.phase >= SlotPhase::prepared)) {
    return false;
  }
  if (!context_.is_authentic(vote->replica, vote->content, vote->authenticator)) return false;
  VoteSet& votes = prepare ? slot.prepares : slot.commits;
  switch (votes.record(vote->replica, vote->batch)) {
    case VoteSet::Outcome::added:
      if (vote->replica == context_.primary()) note_named(vote->sequence);
      if (slot.phase == SlotPhase::empty && prepare)
        times_.note_vote(vote->sequence, vote->batch, context_.now, done());
      if (slot.phase == SlotPhase::empty && !prepare)
        context_.note_unseen(vote->sequence, votes.count(vote->batch));
      advance(slot, out);
      break;
    case VoteSet::Outcome::duplicate:
      context_.drop(DropReason::duplicate);
      break;
    case VoteSet::Outcome::conflicting:
      context_.drop(DropReason::conflicting);
      break;
  }
  return true;
}

bool Agreement::on_decision(ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto decision = decode_vote(frame, MessageType::decision, context_.quorum.replicas);
  if (!decision) return refuse(DropReason::malformed);
  if (!context_.is_peer(decision->replica)) return false;
  const std::uint64_t sequence = decision->sequence;
  if (sequence <= settled()) return false;  // not needed any more
  // Beyond the window, a lie of the sender's earlier life could outlast the silence of its new one.
  if (!log_.reaches(sequence) ||
      sequence > checkpoints_.stable_sequence() + context_.settings.window) {
    return refuse(DropReason::outside_water_marks);
  }
  if (!context_.is_authentic(decision->replica, decision->content, decision->authenticator))
    return false;
  Slot& slot = log_.open(sequence);
  if (context_.now - slot.decisions_since >= kDecisionsCountFor) {
    slot.decisions.clear();
    slot.decisions_since = context_.now;
  }
  slot.decisions.replace(decision->replica, decision->batch);
  if (slot.decisions.count(decision->batch) >= context_.quorum.weak) {
    certify(slot, decision->batch, out);
  }
  return true;
}

void Agreement::certify(Slot& slot, const Digest& batch, ReplicaActions& out) {
  if (slot.phase >= SlotPhase::committed || slot.phase == SlotPhase::certified) return;
  slot.decided = batch;
  Frame content = log_.content_of(slot, batch);
  if (content == nullptr && slot.phase == SlotPhase::awaited && slot.batch == batch)
    content = slot.pre_prepare;
  const std::vector<BodyHandle> bodies = slot.bodies;  // what has come of them stays
  log_.set_pre_prepare(slot, nullptr, {});
  slot.is_proposed = slot.phase == SlotPhase::awaited && slot.batch == batch;
  slot.phase = SlotPhase::certified;
  slot.batch = batch;
  if (content != nullptr || batch == empty_batch()) take_up(slot, std::move(content), out);
}

// Where another batch has been decided than the one that this replica has voted for in this view:
// there it has no second vote.
void Agreement::resume_votes(const Remembered& remembered) {
  const auto slot_of = [&](std::uint64_t sequence, std::uint64_t view, const Digest& batch) {
    const auto decided = remembered.decided.find(sequence);
    const bool is_vote = context_.state == ReplicaState::normal && view == context_.view &&
                         context_.may_vote(sequence) && log_.reaches(sequence);
    const bool is_other = decided != remembered.decided.end() && decided->second != batch;
    return is_vote && is_other ? &log_.open(sequence) : nullptr;
  };
  const auto vote = [&](MessageType type, std::uint64_t sequence, const Digest& batch) {
    return encode_vote(type, context_.view, sequence, batch, context_.keys);
  };
  for (const auto& [sequence, view, batch] : remembered.proposed) {
    Slot* slot = context_.is_primary() ? nullptr : slot_of(sequence, view, batch);
    if (slot == nullptr) continue;
    slot->own_prepare = vote(MessageType::prepare, sequence, batch);
    slot->prepares.record(context_.self, batch);
  }
  for (const auto& [sequence, record] : remembered.prepared) {
    Slot* slot = slot_of(sequence, record.view, record.batch);
    if (slot == nullptr) continue;
    slot->own_commit = vote(MessageType::commit, sequence, record.batch);
    slot->commits.record(context_.self, record.batch);
  }
}

// As before the crash: what was executed is committed, and what was pre-prepared in this view is so
// again, with the same votes.
void Agreement::resume(const Remembered& remembered, ReplicaActions& out) {
  resume_votes(remembered);
  for (const auto& [sequence, batch] : remembered.decided) {
    if (!log_.reaches(sequence)) continue;
    Slot& slot = log_.open(sequence);
    if (slot.phase >= SlotPhase::committed) continue;
    const Frame content = content_of(remembered, sequence, batch);
    log_.note_proposal(slot, batch, 0, content, bodies_.of_batch(content));
    certify(slot, batch, out);
  }
  for (const Remembered::Proposed& proposed : remembered.proposed) {
    if (proposed.view != context_.view || context_.state != ReplicaState::normal ||
        !log_.reaches(proposed.sequence)) {
      continue;
    }
    Slot& slot = log_.open(proposed.sequence);
    Frame content = content_of(remembered, proposed.sequence, proposed.batch);
    if (slot.phase == SlotPhase::empty && (content != nullptr || proposed.batch == empty_batch())) {
      slot.batch = proposed.batch;
      slot.phase = SlotPhase::awaited;
      const auto sent = static_cast<std::ptrdiff_t>(out.sends.size());
      take_up(slot, std::move(content), out);
      // The record may reach back far. Who lacks votes on what is stable says so in a Status.
      const bool is_stable = proposed.sequence <= checkpoints_.stable_sequence();
      if (is_stable) out.sends.erase(out.sends.begin() + sent, out.sends.end());
    } else if (slot.phase == SlotPhase::committed && slot.batch == proposed.batch) {
      slot.is_proposed = true;
      vote_for_decided(slot, out);
    }
    if (context_.is_primary()) {
      context_.progress.last_proposed =
          std::max(context_.progress.last_proposed, proposed.sequence);
    }
  }
}

void Agreement::advance(Slot& slot, ReplicaActions& out) {
  ASSERT(context_.state == ReplicaState::normal);
  if (slot.phase == SlotPhase::pre_prepared &&
      slot.prepares.count(slot.batch) >= context_.quorum.prepared) {
    slot.phase = SlotPhase::prepared;
    if (context_.may_vote(slot.sequence)) {
      slot.prepared = PreparedRecord{context_.view, slot.batch};
      context_.journal.prepared(slot.sequence, *slot.prepared, out);
      vote_to_commit(slot, out);
    }
  }
  if (slot.phase == SlotPhase::prepared &&
      slot.commits.count(slot.batch) >= context_.quorum.committed) {
    slot.phase = SlotPhase::committed;
    slot.decided = slot.batch;
  }
}

}  // namespace prophecy::pbft

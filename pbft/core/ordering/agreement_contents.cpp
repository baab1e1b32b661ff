// How `Agreement` takes up the content of a batch whose digest it knows, and the bodies that the
// content names.
#include "base/assert.hpp"
#include "pbft/core/ordering/agreement.hpp"
#include "pbft/core/state/new_view_choice.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// In each status interval, of contents that are awaited.
constexpr std::uint64_t kContentsBytesMax = 2 * kFrameBytesMax;

}  // namespace

// Which replica sends it does not matter: the digest does. Nor is its time looked at: the others
// have agreed on it, or 2f+1 replicas may have, and this one's clock is no reason to contradict
// them. But each has its own share of what is copied and hashed, and strangers have none.
bool Agreement::on_content(Slot& slot, ByteView frame, const PrePrepareMessage& head,
                           ReplicaActions& out) {
  const NodeId primary = head.primary;
  const NodeId sender = context_.relay.value_or(primary);
  if (!context_.is_peer(sender)) return false;
  Allowance& share = contents_.at(sender);
  if (!share.is_left(kContentsBytesMax / context_.quorum.replicas,
                     context_.settings.status_interval, context_.now)) {
    context_.drop(DropReason::rate_limited);
    return false;
  }
  if (context_.relay) share.charge(frame.size());  // its seal has proven who sends it
  auto copy = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto message = decode_pre_prepare(*copy, context_.quorum.replicas);
  if (!message) {
    context_.drop(DropReason::malformed);
    return false;
  }
  const BatchDigests digests = digests_of(*message);
  if (!context_.relay &&
      !context_.keys.verify_authenticator(primary, content_digest(*message, digests.batch),
                                          message->authenticator)) {
    context_.drop(context_.mac_failure(primary));
    return false;
  }
  if (!context_.relay) share.charge(frame.size());
  if (digests.batch != slot.batch) {
    // The others may have decided on the certified batch in a later view than this primary's.
    const bool is_decided = slot.phase == SlotPhase::certified;
    context_.drop(is_decided ? DropReason::not_wanted : DropReason::conflicting);
    return false;
  }
  ++context_.counters.contents_fetched;
  const bool is_from_primary =
      !context_.relay && head.view == context_.view && primary == context_.primary();
  if (slot.phase == SlotPhase::certified && is_from_primary) slot.is_proposed = true;
  take_up(slot, std::move(copy), &*message, out);
  return false;
}

void Agreement::adopt(std::uint64_t sequence, const Digest& batch, ReplicaActions& out) {
  Slot& slot = log_.open(sequence);
  ASSERT(slot.phase == SlotPhase::empty);
  // A faulty primary may begin a view in two ways, and this replica have learned from the other one
  // what was committed there.
  if (slot.decided && *slot.decided != batch) return certify(slot, *slot.decided, out);
  slot.phase = SlotPhase::awaited;
  slot.batch = batch;
  // Its new-view message stands for the batch as a pre-prepare would, whether it has the content or
  // not: others prepare upon it, and the next view has to find as many that vouch for it.
  if (context_.is_primary()) note_proposal(slot, batch, nullptr, {}, out);
  if (Frame content = log_.content_of(slot, batch); content || batch == empty_batch()) {
    take_up(slot, std::move(content), out);
  }
}

// A replica that has left a view must not prepare a batch that the view had settled on.
bool Agreement::may_take_up(const Slot& slot) const {
  return slot.phase == SlotPhase::certified ||
         (slot.phase == SlotPhase::awaited && slot.pre_prepare == nullptr &&
          context_.state == ReplicaState::normal);
}

bool Agreement::may_prepare_with(const std::vector<BodyHandle>& bodies) const {
  return all_whole(bodies) || context_.quorum.bodies == 0;
}

void Agreement::take_up(Slot& slot, Frame content, ReplicaActions& out) {
  if (content == nullptr) return take_up(slot, nullptr, nullptr, out);
  const auto message = decode_pre_prepare(*content, context_.quorum.replicas);
  ASSERT(message.has_value());
  take_up(slot, std::move(content), &*message, out);
}

void Agreement::take_up(Slot& slot, Frame content, const PrePrepareMessage* message,
                        ReplicaActions& out) {
  ASSERT(may_take_up(slot));
  slot.requests.clear();
  slot.input = {};
  std::vector<BodyHandle> bodies;
  if (message != nullptr) {
    if (slot.execution == SlotExecution::none) {
      slot.requests = batch_requests(*message, *content);
      slot.input = message->input;
    }
    bodies = bodies_.of_batch(*message);
  }
  if (!all_whole(bodies)) {
    for (const BodyHandle& body : bodies)
      bodies_.ask_replicas(*body);
  }
  if (slot.phase == SlotPhase::certified) {
    // Its bodies are needed when it is executed.
    log_.note_proposal(slot, slot.batch, context_.view, content, bodies);
    // Nothing else of it is written before it is executed.
    context_.journal.decided(slot.sequence, slot.batch, content, out);
    log_.set_pre_prepare(slot, std::move(content), std::move(bodies));
    slot.phase = SlotPhase::committed;
    vote_for_decided(slot, out);
    return;
  }
  log_.set_pre_prepare(slot, std::move(content), std::move(bodies));
  if (may_prepare_with(slot.bodies)) {
    note_proposal(slot, slot.batch, slot.pre_prepare, slot.bodies, out);
    pre_prepare(slot, out);
  } else {
    awaiting_bodies_.insert(slot.sequence);
  }
}

void Agreement::on_bodies(ReplicaActions& out) {
  for (auto at = awaiting_bodies_.begin(); at != awaiting_bodies_.end();) {
    Slot* slot = log_.reaches(*at) ? log_.find(*at) : nullptr;
    const bool is_awaiting =
        slot != nullptr && slot->phase == SlotPhase::awaited && slot->pre_prepare != nullptr;
    const bool is_decided = slot != nullptr && awaits_prepare(*slot);
    if ((is_awaiting || is_decided) &&
        (context_.state != ReplicaState::normal || !all_whole(slot->bodies))) {
      ++at;
      continue;
    }
    at = awaiting_bodies_.erase(at);
    if (is_decided) vote_for_decided(*slot, out);
    if (!is_awaiting) continue;
    note_proposal(*slot, slot->batch, slot->pre_prepare, slot->bodies, out);
    pre_prepare(*slot, out);
  }
}

void Agreement::keep_awaited_bodies() {
  times_.clear();
  bodies_of_last_view_.clear();
  for (const std::uint64_t sequence : awaiting_bodies_) {
    const Slot* slot = log_.reaches(sequence) ? log_.find(sequence) : nullptr;
    if (slot == nullptr || slot->phase != SlotPhase::awaited) continue;
    bodies_of_last_view_.insert(bodies_of_last_view_.end(), slot->bodies.begin(),
                                slot->bodies.end());
    last_view_ends_ = sequence;
  }
}

}  // namespace prophecy::pbft

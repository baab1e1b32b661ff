#include "pbft/core/views/view_changer.hpp"

#include <algorithm>
#include <bit>

#include "base/assert.hpp"
#include "pbft/core/state/absence.hpp"
#include "pbft/core/state/journal_check.hpp"
#include "pbft/wire/decode.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kCarriedEvery = seconds(10);
// So many views the group cannot have gone on while a replica was away: one that has lost its
// memory may have asked for any.
constexpr std::uint64_t kViewsAheadMax = std::uint64_t{1} << 32;
constexpr Duration kShownEvery = milliseconds(200);

}  // namespace

ViewChanger::ViewChanger(Context& context, Log& log, Checkpoints& checkpoints, Agreement& agreement,
                         Patience& patience)
    : context_(context),
      log_(log),
      checkpoints_(checkpoints),
      agreement_(agreement),
      patience_(patience),
      asked_(context.quorum.replicas),
      refused_at_(context.quorum.replicas),
      gone_since_(context.quorum.replicas),
      silent_(context.quorum.replicas),
      slow_primary_(context.settings.view_change_timeout, context.settings.faults + 1),
      left_out_(2 * context.settings.view_change_timeout) {}

Duration ViewChanger::patience_length() const {
  const Duration longest = context_.settings.view_change_timeout_max;
  Duration length = context_.settings.view_change_timeout;
  for (std::uint32_t i = 0; i < futile_views_ && length < longest; ++i)
    length *= 2;
  return std::min(length, longest);
}

std::optional<TimePoint> ViewChanger::primary_gone_at() const {
  const auto& since = gone_since_[context_.primary()];
  return since ? std::optional(*since + context_.settings.status_interval) : std::nullopt;
}

void ViewChanger::note_gone(NodeId peer, TimePoint now) {
  if (!gone_since_[peer]) gone_since_[peer] = now;
}

bool ViewChanger::is_held_up() const {
  // What is agreed on, and waits for bodies here alone, is not what the primary waits for.
  const std::uint64_t settled = lacks_bodies() ? agreement_.agreed() : agreement_.settled();
  return settled >= agreement_.high_water_mark() ||
         (settled >= log_.highest_proposed() &&
          (log_.view_bytes() >= context_.settings.log_bytes_max || context_.is_record_full()) &&
          // Nor are bodies that do not come, whose sizes count as well: no checkpoint brings them.
          !agreement_.awaits_bodies());
}

bool ViewChanger::has_no_room() const {
  // In a new view what was executed before has to be agreed on again.
  return context_.is_service_at_work &&
         agreement_.agreed() >=
             context_.progress.last_ordered + context_.settings.partial_batches_in_flight_max;
}

// Of those that have signed a stable checkpoint f+1 are correct, and have executed it. They see
// whether the primary goes on.
Patience::Excuse ViewChanger::excuse() const {
  if (is_behind()) return Patience::Excuse::behind;
  if (is_held_up()) return Patience::Excuse::held_up;
  return has_no_room() ? Patience::Excuse::busy : Patience::Excuse::none;
}

bool ViewChanger::is_behind() const {
  return checkpoints_.stable_sequence() > context_.progress.last_ordered;
}

bool ViewChanger::lacks_bodies() const {
  const Slot* next = log_.find(context_.progress.last_ordered + 1);
  return next != nullptr && next->phase == SlotPhase::committed && !all_whole(next->bodies);
}

BlameInputs::Place ViewChanger::place() const {
  if (context_.is_silent()) return BlameInputs::Place::silent;
  if (context_.state != ReplicaState::normal) return BlameInputs::Place::changing;
  return context_.is_primary() ? BlameInputs::Place::primary : BlameInputs::Place::backup;
}

void ViewChanger::arm(TimePoint now) {
  BlameInputs inputs;
  inputs.place = place();
  inputs.gone_at = primary_gone_at();
  if (context_.state == ReplicaState::changing_view) {
    inputs.no_new_view_at = give_up_at_;
    if (silent_[context_.primary()]) inputs.gone_at = now;
  }
  if (inputs.place == BlameInputs::Place::primary || inputs.place == BlameInputs::Place::backup) {
    note_unsettled(now);
    inputs.unsettled_since = unsettled_since_;
    inputs.patience = patience_length();
  }
  if (inputs.place == BlameInputs::Place::backup) {
    note_requests(now, inputs);
    note_proposals(now, inputs);
  }
  blame_ = when_to_blame(inputs);
  blame_.at = std::max(blame_.at, blamed_from_);
  look_at_ = blame_.cause == ViewChangeCause::none
                 ? TimePoint::max()
                 : std::clamp(blame_.at, now, now + context_.settings.status_interval);
}

void ViewChanger::notice_absence(TimePoint now) {
  const Duration absent = absence(look_at_, now);
  if (absent == Duration{}) return;
  if (unsettled_since_) unsettled_since_ = later(*unsettled_since_, absent, now);
  if (give_up_at_) *give_up_at_ += absent;
  patience_.leave_out(absent, now);
  slow_primary_.leave_out(absent, now);
  // What came meanwhile is read first. Not each time, but once in a time-out in which it has run:
  // one that hardly ever runs finds a primary that has ended, too, however long it is halted.
  blamed_from_ += absent;
  if (now >= blamed_from_ + context_.settings.view_change_timeout) {
    blamed_from_ = now + context_.settings.status_interval;
  }
  arm(now);
}

void ViewChanger::note_unsettled(TimePoint now) {
  const bool has_ordered = context_.progress.last_ordered > context_.ordered_at_entry;
  if (has_ordered) futile_views_ = 0;
  // What was proposed has to be settled in time, too. Those that have executed it in an older view
  // wait for no request any more, while others may need their votes in a new one. For that, a
  // primary gives itself up as well.
  // But what is agreed on and waits for this replica's own service waits for nobody else, nor does
  // what waits for bodies: those that have committed it have them, whoever is primary. (When its
  // service does nothing for another reason, another primary may be needed.)
  // Nor is it the primary's fault that this replica lacks what 2f+1 have executed.
  const bool is_own_matter = context_.is_service_at_work || lacks_bodies();
  const std::uint64_t settled = is_behind()
                                    ? agreement_.settled_by_group()
                                    : (is_own_matter ? agreement_.agreed() : agreement_.settled());
  // Nor does anybody wait for the batches that carry a peer to the checkpoint that it needs.
  // Seldom: a peer may tell this replica that it waits, and not the primary.
  const bool carrying = context_.awaited_by_silent > checkpoints_.stable_sequence() &&
                        (!carried_at_ || now - *carried_at_ >= kCarriedEvery);
  // What was refused here may be what its primary is stuck with, after a restart of the whole
  // group.
  const std::uint64_t proposed = std::max(log_.highest_proposed(), context_.refused_until);
  if (proposed <= settled && !carrying) {
    unsettled_since_.reset();
  } else if (!unsettled_since_ || settled != settled_then_) {
    unsettled_since_ = now;
  }
  settled_then_ = settled;
}

void ViewChanger::note_requests(TimePoint now, BlameInputs& inputs) {
  const std::uint64_t ordered = context_.progress.last_ordered;
  patience_.excuse(excuse(), now, ordered, checkpoints_.stable_sequence());
  const Patience::Oldest oldest = patience_.oldest(now, ordered);
  inputs.request_since = oldest.since;
  // While the log is full, nothing is late.
  slow_primary_.note(is_held_up() ? std::nullopt : oldest.late_since, now);
  inputs.slow_at = slow_primary_.due();
}

// Requires note_requests(): where f+1 primaries in a row were no better, it is the network.
void ViewChanger::note_proposals(TimePoint now, BlameInputs& inputs) {
  left_out_.note(agreement_.taken(), now);
  if (left_out_.is_due() && !slow_primary_.is_paused()) inputs.left_out_at = now;
}

void ViewChanger::on_tick(TimePoint now, ReplicaActions& out) {
  if (now < blame_.at || context_.is_silent()) return;
  const ViewChangeCause cause = blame_.cause;
  if (is_only_carrying(cause)) carried_at_ = now;
  if (cause == ViewChangeCause::primary_slow || cause == ViewChangeCause::left_out) {
    slow_primary_.on_blamed(now);
  }
  ask_for(context_.view + 1, cause, now, out);
}

bool ViewChanger::is_only_carrying(ViewChangeCause cause) const {
  return context_.state == ReplicaState::normal && cause == ViewChangeCause::nothing_settled &&
         std::max(log_.highest_proposed(), context_.refused_until) <= settled_then_;
}

bool ViewChanger::is_futile() const {
  return context_.state == ReplicaState::changing_view ||
         (new_view_ != nullptr && context_.progress.last_ordered == context_.ordered_at_entry);
}

void ViewChanger::ask_for(std::uint64_t view, ViewChangeCause cause, TimePoint now,
                          ReplicaActions& out) {
  ASSERT(view > context_.view && !context_.is_silent());
  cause_ = cause;
  // Also where it only joins others: of those that time out by themselves a faulty replica and the
  // most impatient of the correct ones would be enough, and the rest would never wait for longer.
  if (is_futile() && !is_only_carrying(cause)) ++futile_views_;
  ++context_.counters.view_changes_started;
  ++context_.counters.view_changes_by_cause[static_cast<std::size_t>(cause)];
  context_.view = view;
  context_.state = ReplicaState::changing_view;
  new_view_.reset();
  give_up_at_.reset();
  context_.journal.view(view, true, out);
  say_so(out);
  join_others(now, out);
  begin_as_primary(now, out);
}

void ViewChanger::say_so(ReplicaActions& out) {
  Asked& own = asked_[context_.self];
  own.view = context_.view;
  own.frame = make_view_change(context_.view);
  context_.send_to_peers(own.frame, out);
}

Frame ViewChanger::make_view_change(std::uint64_t view) const {
  ViewChangeMessage message;
  message.incarnation = context_.membership.incarnation;
  message.view = view;
  message.stable = checkpoints_.stable_sequence();
  for (const Checkpoints::SignedClaim& claim : checkpoints_.certificate())
    message.certificate.emplace_back(*claim.frame);
  // Nothing is voted on beyond the window; what is known there is what others have decided.
  const std::uint64_t last =
      std::min(log_.highest_known(), message.stable + context_.settings.window);
  std::size_t proposals = 0;
  for (std::uint64_t sequence = message.stable + 1; sequence <= last; ++sequence) {
    if (const Slot* slot = log_.find(sequence)) proposals += slot->proposals.size();
  }
  const bool crowded = proposals > kProposalsPerNumber * context_.settings.window;
  for (std::uint64_t sequence = message.stable + 1; sequence <= last; ++sequence) {
    const Slot* slot = log_.find(sequence);
    if (slot == nullptr) continue;
    if (slot->prepared) {
      message.prepared.push_back({sequence, slot->prepared->view, slot->prepared->batch});
    }
    // Of so many that the message would not fit, the prepared one and the newest.
    const std::size_t kept = crowded ? kProposalsPerNumber - 1 : slot->proposals.size();
    for (std::size_t i = 0; i < slot->proposals.size(); ++i) {
      const Proposal& proposal = slot->proposals[i];
      const bool prepared = slot->prepared && slot->prepared->batch == proposal.batch;
      if (i + kept < slot->proposals.size() && !prepared) continue;
      // What others have decided meanwhile has been pre-prepared in no view before this one.
      const std::uint64_t known_view = std::min(proposal.view, view - 1);
      message.pre_prepared.push_back({sequence, known_view, proposal.batch});
    }
  }
  return encode_view_change(message, context_.keys);
}

bool ViewChanger::is_certified(const ViewChangeMessage& message) {
  if (message.stable == 0) return true;
  std::uint64_t signers = 0;
  std::optional<Digest> order;
  for (const ByteView frame : message.certificate) {
    const auto claim = decode_checkpoint(frame);
    if (!claim || claim->sequence != message.stable ||
        !is_replica(claim->replica, context_.quorum.replicas) ||
        (signers >> claim->replica & 1) != 0 || claim->order != order.value_or(claim->order)) {
      return false;
    }
    if (!context_.is_signed_by(claim->replica, sha256(claim->content), claim->signature)) {
      met_wrong_signature_ = true;
      return false;
    }
    order = claim->order;
    signers |= std::uint64_t{1} << claim->replica;
  }
  return static_cast<std::uint32_t>(std::popcount(signers)) >= context_.quorum.certificate;
}

// This replica's own among them.
bool ViewChanger::is_of_earlier_life(const ViewChangeMessage& message) const {
  const Rebirth& rebirth = context_.rebirths[message.replica];
  return message.incarnation < rebirth.incarnation && message.view > rebirth.view;
}

// Its certificate may be of an earlier life of the group.
bool ViewChanger::may_be_stable(const ViewChangeMessage& message) const {
  return context_.may_be_stable(message.stable, checkpoints_.stable_sequence());
}

std::optional<ViewChangeMessage> ViewChanger::verified(ByteView frame) {
  auto message = decode_view_change(frame, context_.quorum.replicas);
  if (!message || !is_replica(message->replica, context_.quorum.replicas)) return std::nullopt;
  const auto is_within = [&](const std::vector<BatchRecord>& records) {
    return records.empty() || records.back().sequence - message->stable <= context_.settings.window;
  };
  if (!is_within(message->prepared) || !is_within(message->pre_prepared)) return std::nullopt;
  // With more, the view-change messages of all might not fit into the frame of a new view.
  if (message->pre_prepared.size() > kProposalsPerNumber * context_.settings.window) {
    return std::nullopt;
  }
  if (is_of_earlier_life(*message)) return std::nullopt;
  if (!may_be_stable(*message)) return std::nullopt;
  // The same frame need not be verified again within a new-view message.
  const Frame& known = asked_[message->replica].frame;
  if (known != nullptr && std::equal(known->begin(), known->end(), frame.begin(), frame.end())) {
    return message;
  }
  if (!context_.is_signed_by(message->replica, sha256(message->content), message->signature)) {
    met_wrong_signature_ = true;
    return std::nullopt;
  }
  if (!is_certified(*message)) return std::nullopt;
  return message;
}

bool ViewChanger::on_view_change(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto message = decode_view_change(frame, context_.quorum.replicas);
  if (!message) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.is_peer(message->replica)) return false;
  Asked& asked = asked_[message->replica];
  if (message->view <= asked.view || message->view < context_.view) {
    context_.drop(message->view == asked.view ? DropReason::duplicate : DropReason::wrong_view);
    return false;
  }
  if (!may_be_stable(*message) || message->view - context_.view > kViewsAheadMax) {
    context_.drop(DropReason::outside_water_marks);
    return false;
  }
  if (!verified(frame)) {
    context_.drop(DropReason::bad_signature);
    return false;
  }
  asked.view = message->view;
  asked.frame = std::make_shared<const Bytes>(frame.begin(), frame.end());
  join_others(now, out);
  begin_as_primary(now, out);
  return true;
}

// Those that are further have asked for it before; their messages may be lost.
std::uint32_t ViewChanger::asking_for(std::uint64_t view) const {
  return static_cast<std::uint32_t>(std::count_if(
      asked_.begin(), asked_.end(), [&](const Asked& asked) { return asked.view >= view; }));
}

std::uint64_t ViewChanger::elsewhere() const {
  std::uint64_t elsewhere = 0;
  for (NodeId replica = 0; replica < asked_.size(); ++replica) {
    // A replica that has lost its memory says what it has, and votes on nothing.
    if (asked_[replica].view > context_.view || silent_[replica])
      elsewhere |= std::uint64_t{1} << replica;
  }
  return elsewhere;
}

// f+1 that are ahead: one of them is correct. The smallest of their views, so as to skip none.
void ViewChanger::join_others(TimePoint now, ReplicaActions& out) {
  std::uint32_t ahead = 0;
  std::uint64_t smallest = UINT64_MAX;
  for (const Asked& asked : asked_) {
    if (asked.view <= context_.view) continue;
    ++ahead;
    smallest = std::min(smallest, asked.view);
  }
  if (ahead >= context_.quorum.weak && !context_.is_silent())
    return ask_for(smallest, ViewChangeCause::others_asked, now, out);
  if (context_.state == ReplicaState::changing_view && !give_up_at_ &&
      asking_for(context_.view) >= context_.quorum.view_change) {
    give_up_at_ = now + patience_length();
  }
}

void ViewChanger::begin_as_primary(TimePoint now, ReplicaActions& out) {
  if (context_.state != ReplicaState::changing_view || !context_.is_primary() ||
      context_.is_silent() || !checkpoints_.is_proven()) {
    return;
  }
  std::vector<ByteView> frames;
  std::vector<ViewChangeMessage> messages;
  for (const Asked& asked : asked_) {
    if (asked.view != context_.view) continue;
    frames.emplace_back(*asked.frame);
    messages.push_back(*decode_view_change(*asked.frame, context_.quorum.replicas));
  }
  if (messages.size() < context_.quorum.view_change) return;
  const auto choice = choose(messages, context_.quorum);
  if (!choice) return;
  // Its message vouches for all batches that the view begins with, and the next view may need that.
  // The log of a primary that lags behind may not reach as far.
  const std::uint64_t highest = choice->stable + choice->batches.size();
  if (highest > choice->stable && !log_.reaches(highest)) return;
  new_view_ = encode_new_view(context_.view, frames, context_.keys);
  context_.send_to_peers(new_view_, out);
  enter(context_.view, messages, *choice, now, out);
}

bool ViewChanger::on_new_view(ByteView frame, TimePoint now, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto message = decode_new_view(frame, context_.quorum.replicas);
  if (!message) return refuse(DropReason::malformed);
  const bool wanted =
      message->view > context_.view ||
      (message->view == context_.view && context_.state == ReplicaState::changing_view);
  if (!wanted) return refuse(DropReason::wrong_view);
  if (message->primary != primary_of(message->view, context_.quorum.replicas) ||
      message->primary == context_.self) {
    return refuse(DropReason::unknown_sender);
  }
  if (!context_.is_signed_by(message->primary, sha256(message->content), message->signature)) {
    return refuse(DropReason::bad_signature);
  }
  // From here on it is its primary's doing.
  const auto refuse_proven = [&](DropReason reason) {
    context_.drop(reason);
    return true;
  };
  // Each costs as many signatures as there are messages in it.
  auto& refused_at = refused_at_[message->primary];
  if (refused_at && now - *refused_at < context_.settings.status_interval) {
    return refuse_proven(DropReason::rate_limited);
  }
  // Kept, because the messages in it view into it.
  auto copy = std::make_shared<const Bytes>(frame.begin(), frame.end());
  const auto kept = decode_new_view(*copy, context_.quorum.replicas);
  met_wrong_signature_ = false;
  const std::vector<ViewChangeMessage> messages = verified_all(*kept);
  const auto choice = messages.size() >= context_.quorum.view_change
                          ? choose(messages, context_.quorum)
                          : std::nullopt;
  if (!choice) {
    refused_at = now;
    // Its primary may have a file of the group that lists other keys.
    if (met_wrong_signature_) return refuse_proven(DropReason::bad_signature);
    // Nor need it have heard that somebody has begun another life.
    if (!has_earlier_life(*kept)) return refuse_proven(DropReason::malformed);
    show_rebirths(*kept, out);
    return refuse_proven(DropReason::wrong_view);
  }
  new_view_ = copy;
  enter(kept->view, messages, *choice, now, out);
  return true;
}

std::vector<ViewChangeMessage> ViewChanger::verified_all(const NewViewMessage& message) {
  std::vector<ViewChangeMessage> messages;
  std::uint64_t senders = 0;
  for (const ByteView one : message.view_changes) {
    auto view_change = verified(one);
    if (!view_change || view_change->view != message.view ||
        (senders >> view_change->replica & 1) != 0) {
      return {};
    }
    senders |= std::uint64_t{1} << view_change->replica;
    messages.push_back(std::move(*view_change));
  }
  return messages;
}

bool ViewChanger::has_earlier_life(const NewViewMessage& message) const {
  return std::any_of(message.view_changes.begin(), message.view_changes.end(), [&](ByteView one) {
    const auto asked = decode_view_change(one, context_.quorum.replicas);
    return asked && is_replica(asked->replica, context_.quorum.replicas) &&
           (is_of_earlier_life(*asked) || !may_be_stable(*asked));
  });
}

// Where messages are lost, some have not heard of it, and the next primary may be one of them.
void ViewChanger::show_rebirths(const NewViewMessage& message, ReplicaActions& out) const {
  for (const ByteView one : message.view_changes) {
    const auto asked = decode_view_change(one, context_.quorum.replicas);
    if (!asked || !is_replica(asked->replica, context_.quorum.replicas) ||
        !is_of_earlier_life(*asked)) {
      continue;
    }
    const Frame& rejoin = context_.rejoins[asked->replica];
    if (rejoin != nullptr) context_.send_to_peers(rejoin, out);
  }
}

void ViewChanger::give_up(ViewChangeCause cause, ReplicaActions& out) {
  if (context_.state == ReplicaState::normal && !context_.is_silent()) {
    ask_for(context_.view + 1, cause, context_.now, out);
  }
}

void ViewChanger::end_silence(ReplicaActions& out) {
  // What it has waited for meanwhile is nothing to blame the primary for.
  patience_.restart(context_.now, context_.progress.last_ordered);
  if (context_.state == ReplicaState::changing_view) say_so(out);
  join_others(context_.now, out);
  begin_as_primary(context_.now, out);
}

void ViewChanger::on_proven(ReplicaActions& out) {
  if (context_.state != ReplicaState::changing_view || context_.is_silent()) return;
  say_so(out);
  begin_as_primary(context_.now, out);
}

void ViewChanger::resume_in(std::uint64_t view, ReplicaActions& out) {
  if (view > context_.view) {
    context_.view = view;
    context_.state = ReplicaState::changing_view;
  }
  context_.journal.view(context_.view, context_.state == ReplicaState::changing_view, out);
}

void ViewChanger::resume(const Remembered& remembered, ReplicaActions& out) {
  context_.view = remembered.view;
  if (remembered.changing_view) {
    context_.state = ReplicaState::changing_view;
    // It says what the one before the crash said: nothing has been voted on since.
    if (!context_.is_silent()) say_so(out);
    return;
  }
  if (context_.view == 0) return;
  // It was verified before it was written.
  const auto messages = entered_with(remembered, context_.quorum.replicas);
  const auto choice = messages.empty() ? std::nullopt : choose(messages, context_.quorum);
  if (!choice) {
    // Its peers have it.
    context_.state = ReplicaState::changing_view;
    return;
  }
  new_view_ = remembered.new_view;
  enter(context_.view, messages, *choice, context_.now, out);
}

void ViewChanger::enter(std::uint64_t view, const std::vector<ViewChangeMessage>& messages,
                        const NewViewChoice& choice, TimePoint now, ReplicaActions& out) {
  ++context_.counters.views_entered;
  context_.view = view;
  context_.state = ReplicaState::normal;
  give_up_at_.reset();
  entered_ = true;
  unsettled_since_.reset();
  slow_primary_.restart(now);
  left_out_.restart(agreement_.taken(), now);
  context_.ordered_at_entry = context_.progress.last_ordered;
  context_.journal.view(view, false, out);
  context_.journal.new_view(new_view_, out);
  const auto newest = std::find_if(
      messages.begin(), messages.end(),
      [&](const ViewChangeMessage& message) { return message.stable == choice.stable; });
  std::vector<Checkpoints::SignedClaim> certificate;
  for (const ByteView frame : newest->certificate) {
    const auto claim = decode_checkpoint(frame);
    certificate.push_back({claim->replica, checkpoints_.claimed_by(*claim),
                           std::make_shared<const Bytes>(frame.begin(), frame.end())});
  }
  if (!certificate.empty()) checkpoints_.adopt(std::move(certificate));
  const std::uint64_t highest = choice.stable + choice.batches.size();
  log_.note_stable(checkpoints_.stable_sequence());
  agreement_.keep_awaited_bodies();
  // Its messages may be older than what is stable here. What is committed up to there stays so: its
  // votes are over, and it may still have to be executed.
  const std::uint64_t stable = std::max(choice.stable, checkpoints_.stable_sequence());
  log_.enter_view(stable, highest);
  context_.chosen_until = highest;
  context_.refused_until = 0;
  context_.voted_until = 0;
  context_.named_by_primary = 0;
  context_.progress.last_proposed = highest;
  for (std::size_t i = 0; i < choice.batches.size(); ++i) {
    const std::uint64_t sequence = choice.stable + 1 + i;
    const bool within =
        sequence >= log_.first_retained() && sequence - log_.first_retained() < log_.capacity();
    const Slot* known = within ? log_.find(sequence) : nullptr;
    const bool is_kept = known != nullptr && known->phase != SlotPhase::empty;
    if (within && !is_kept) agreement_.adopt(sequence, choice.batches[i], out);
  }
  log_.shelve(view, 2 * context_.settings.log_bytes_max);
  patience_.restart(now, context_.progress.last_ordered);
}

void ViewChanger::serve(NodeId peer, std::uint64_t view, bool changing, ReplicaActions& out) {
  if (view > context_.view || (view == context_.view && !changing)) return;
  Asked& asked = asked_[peer];
  const Frame& own = asked_[context_.self].frame;
  if (context_.state == ReplicaState::normal && new_view_ != nullptr) {
    // It may be large, and whoever says that it is in an old view need not be.
    if (asked.shown_at && context_.now - *asked.shown_at < kShownEvery) return;
    asked.shown_at = context_.now;
    out.sends.push_back({peer, 0, new_view_});
  } else if (context_.state == ReplicaState::changing_view && own != nullptr) {
    out.sends.push_back({peer, 0, own});
  }
}

}  // namespace prophecy::pbft

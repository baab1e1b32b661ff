#include "pbft/core/recovery/recovery.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "pbft/core/bodies/bodies.hpp"
#include "pbft/core/recovery/state_verdict.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {
namespace {

constexpr Duration kPauseAtFirst = milliseconds(500);
constexpr Duration kPauseMax = minutes(1);
constexpr Duration kBeginAgainAfter = seconds(1);
// So long claims about a checkpoint are waited for, where those that are here do not confirm this
// replica's state.
constexpr Duration kClaimsAwaitedFor = milliseconds(300);
// So long 2f+1 equal states behind an uncertain write are waited for, and longer by what the own
// snapshot took, as the others' take their time as well; and so often it is executed once more from
// one checkpoint.
constexpr Duration kComparedFor = seconds(1);
constexpr Duration kSnapshotAwaitedMax = seconds(10);
constexpr std::uint32_t kRepeatsMax = 2;
constexpr Duration kGroupAwaitedFor = seconds(2);
// So long parts stay of which no state came: they are likely to be wanted again.
constexpr Duration kGivenUpKeptFor = minutes(1);
// So long a body may make no progress before its batch is taken over with a state; and so long
// bodies may be awaited in one lag, and a second longer for so many bytes of them.
constexpr Duration kBodyAwaitedFor = seconds(2);
constexpr std::uint64_t kBodyBytesPerSecond = std::uint64_t{4} << 20;
// So long claims that were lost may take to come again.
constexpr Duration kStateAwaitedFor = seconds(2);

// Without replies, what is fetched is as good.
bool is_within(const CheckpointClaim& target, const CheckpointClaim& certified) {
  return target.sequence == certified.sequence && target.service == certified.service &&
         (target.replies == Digest{} || target.replies == certified.replies);
}

TimePoint end_of(const ExecutionStage::Comparison& comparison) {
  return comparison.since + kComparedFor +
         std::min<Duration>(comparison.snapshot_took, kSnapshotAwaitedMax);
}

}  // namespace

Recovery::Recovery(Context& context, Log& log, Checkpoints& checkpoints, ExecutionStage& execution,
                   Snapshots& snapshots, PartStore& parts)
    : context_(context),
      log_(log),
      checkpoints_(checkpoints),
      execution_(execution),
      snapshots_(snapshots),
      fetch_(context, parts),
      base_(context, snapshots),
      server_(context, parts) {}

// Some checkpoints pass unwatched while the claims about one are waited for. What is wrong shows at
// the next.
void Recovery::judge_state() {
  const std::uint64_t stable = checkpoints_.stable_sequence();
  if (checkpoints_.watched() == nullptr) {
    if (stable == judged_ || checkpoints_.own_at(stable) == nullptr || checkpoints_.diverged()) {
      return;
    }
    judged_ = stable;
    checkpoints_.watch(context_.self);
    watched_since_ = context_.now;
  }
  const Checkpoints::Watched& claims = *checkpoints_.watched();
  const bool is_over = context_.now - watched_since_ >= kClaimsAwaitedFor;
  const StateVerdict verdict = state_verdict(claims, is_over, context_.quorum);
  if (verdict == StateVerdict::open) return;
  if (has_other_replies(claims, context_.quorum)) ++context_.counters.reply_divergences;
  judge_doubt(claims);
  checkpoints_.end_watch();
  switch (verdict) {
    case StateVerdict::open:
    case StateVerdict::unstated:
      break;
    case StateVerdict::right:
      if (is_astray()) service_ = is_back() ? Service::back : Service::as_it_was;
      if (execution_.state() == ExecutionStage::State::running) pause_ = Duration::zero();
      break;
    case StateVerdict::wrong:
      // It goes on with its own state, which others mask, until it has theirs.
      ++context_.counters.state_divergences;
      service_ = is_back() ? Service::astray_and_back : Service::astray;
      break;
    case StateVerdict::outvoted:
      ++context_.counters.state_divergences;
      break;
    case StateVerdict::unknown:
      ++context_.counters.states_uncertified;
      break;
  }
}

// A second checkpoint at which no f+1 others are in one state will not be followed by a better one:
// then all differ, and this state is as good as any.
void Recovery::judge_doubt(const Checkpoints::Watched& claims) {
  constexpr std::uint32_t kDecidesNothingMax = 2;
  const auto doubt = execution_.in_doubt_since();
  if (!doubt || *doubt > claims.own.sequence) return;
  const bool is_right = is_state_agreed(claims, context_.quorum);
  const bool is_wrong = !is_right && has_other_state(claims, context_.quorum);
  if (!is_right && !is_wrong && ++doubted_at_ < kDecidesNothingMax) {
    return execution_.ask_for_checkpoint(claims.own.sequence + 1);
  }
  doubted_at_ = 0;
  execution_.end_doubt(is_wrong);
}

// What takes the place of a state that was found wrong: the certified one of the stable checkpoint,
// once as many others claim it as it takes for that.
std::optional<CheckpointClaim> Recovery::wanted_for_repair(const CheckpointClaim& stable) const {
  const CheckpointClaim* own = checkpoints_.own_at(stable.sequence);
  const std::uint64_t others =
      checkpoints_.holders_of_service() & ~(std::uint64_t{1} << context_.self);
  const bool is_agreed =
      static_cast<std::uint32_t>(std::popcount(others)) >= context_.quorum.repair;
  if (own != nullptr && own->service != stable.service && is_agreed) return stable;
  // A newer checkpoint may not be as far yet. What is being fetched is right as well.
  if (fetch_.state() != StateFetch::State::idle) return fetch_.target();
  return std::nullopt;
}

// Others have a checkpoint that this replica does not come to, for longer than retransmission
// takes.
bool Recovery::is_stuck() const {
  return lagging_since_ && context_.now - *lagging_since_ >= patience();
}

Duration Recovery::patience() const {
  return std::max<Duration>(10 * context_.settings.status_interval, milliseconds(200));
}

// A state would bring what the batch would, but to a service that keeps none it brings nothing: its
// origin would miss a write, only because it or its disk is slower than others.
bool Recovery::goes_on() const {
  const Slot* next = log_.find(context_.progress.last_ordered + 1);
  if (!lag_ || next == nullptr || next->phase != SlotPhase::committed || is_far_behind()) {
    return false;
  }
  if (all_whole(next->bodies)) return context_.is_service_at_work;
  if (lag_->awaited >= kBodyAwaitedFor + seconds(lag_->bytes / kBodyBytesPerSecond)) return false;
  return std::none_of(next->bodies.begin(), next->bodies.end(), [&](const BodyHandle& body) {
    return body->state() == Body::State::missing &&
           context_.now - body->progressed_at() >= kBodyAwaitedFor;
  });
}

// Without the next one, however large: it may be what the others are faster with. Bodies lie on the
// disk.
bool Recovery::is_far_behind() const {
  if (context_.progress.last_ordered < context_.dropped_until) return true;
  const std::uint64_t bytes_max = 2 * context_.settings.log_bytes_max;
  return log_.bytes() > bytes_max &&
         log_.stable_content_bytes(context_.progress.last_ordered + 2) > bytes_max;
}

void Recovery::note_awaited() {
  if (lag_->awaits_bodies) lag_->awaited += context_.now - lag_->noted_at;
  lag_->noted_at = context_.now;
  const std::uint64_t sequence = context_.progress.last_ordered + 1;
  const Slot* next = log_.find(sequence);
  lag_->awaits_bodies =
      next != nullptr && next->phase == SlotPhase::committed && !all_whole(next->bodies);
  if (!lag_->awaits_bodies || sequence <= lag_->counted_to) return;
  lag_->bytes += bytes_of(next->bodies);
  lag_->counted_to = sequence;
}

void Recovery::note_lag() {
  const std::uint64_t ordered = context_.progress.last_ordered;
  if (checkpoints_.stable_sequence() <= ordered) {
    lagging_since_.reset();
    lag_.reset();
  } else {
    if (!lag_ || ordered != ordered_then_) lagging_since_ = context_.now;
    if (!lag_) lag_ = Lag{context_.now};
    note_awaited();
    if (goes_on()) lagging_since_ = context_.now;
  }
  ordered_then_ = ordered;
  // Claims may have been lost, and no further checkpoint need come.
  context_.lacks_claims = (is_stuck() || execution_.is_unreliable()) &&
                          checkpoints_.stable_sequence() > 0 &&
                          checkpoints_.stable().service == Digest{};
}

std::optional<CheckpointClaim> Recovery::wanted(bool beyond_help) const {
  const CheckpointClaim stable = checkpoints_.stable();
  const Progress& progress = context_.progress;
  if (stable.service == Digest{}) {
    return is_astray() ? wanted_for_repair(stable) : std::nullopt;
  }
  const bool behind =
      stable.sequence > progress.last_ordered &&
      ((beyond_help && !goes_on()) || is_stuck() || is_far_behind() ||
       !log_.reaches(progress.last_ordered + 1) || !log_.reaches(stable.sequence + 1) ||
       stable.sequence - progress.last_ordered >
           std::max<std::uint64_t>(context_.settings.retained_batches, 1));
  if (behind || (execution_.is_unreliable() && !awaits_return())) return stable;
  if (is_astray()) return wanted_for_repair(stable);
  return std::nullopt;
}

// f+1 that claim another state may be a faulty replica, and one whose state is damaged.
bool Recovery::awaits_return() const {
  return is_away_ && own_to_restore() != nullptr && !own_failed_;
}

void Recovery::on_service_away() {
  is_away_ = true;
  execution_.on_service_lost();
}

// Whatever was restored meanwhile: what it is now, nobody knows.
void Recovery::on_service_back() {
  is_away_ = false;
  execution_.on_service_lost();
  service_ = is_astray() ? Service::astray_and_back : Service::back;
}

bool Recovery::take_replaced() {
  if (state_ != State::replaced) return false;
  state_ = State::nothing;
  return true;
}

void Recovery::pause() {
  pause_ = std::clamp(pause_ * 2, kPauseAtFirst, kPauseMax);
  not_before_ = context_.now + pause_;
}

void Recovery::advance(bool beyond_help, ReplicaActions& out) {
  judge_state();
  note_lag();
  bound_record(out);
  trim();
  end_comparison(out);
  if (is_waiting(beyond_help)) {
    ask_for_checkpoint();
  } else {
    waiting_since_.reset();
  }
  const auto state = execution_.state();
  if (state == ExecutionStage::State::quiescing || state == ExecutionStage::State::restoring ||
      context_.now < not_before_ || context_.is_asking()) {
    return;
  }
  // An operator looks at the present state: nothing but the group's takes its place.
  const bool is_held = execution_.is_frozen();
  // Its disk may have lost parts of its own state: the group's is next then.
  const bool is_groups_turn = own_failed_ && checkpoints_.stable().service != Digest{};
  // A service that is back is restored in any case: until then nothing is sent to it.
  const bool is_restored = is_back() || (execution_.is_unreliable() &&
                                         (may_repeat() || execution_.is_merely_contradicted()));
  if (is_restored && !is_groups_turn && !is_held && restore_own()) return;
  // The service could not be asked at the beginning.
  if (!base_.has() && !base_.is_flushing() && !is_held && execution_.may_begin_at_zero() &&
      (!execution_.is_unreliable() || is_back())) {
    not_before_ = context_.now + kBeginAgainAfter;
    return execution_.begin_at_zero(out);
  }
  // Who signed a claim of the target before losing its memory may have been faulty then: claims of
  // present lives decide. Parts that are here already are not fetched again.
  const std::uint64_t lives_begun = checkpoints_.lives_begun();
  const bool is_news = std::exchange(lives_begun_, lives_begun) != lives_begun;
  if (is_news && !is_within(fetch_.target(), checkpoints_.stable())) fetch_.stop();
  const auto target = wanted(beyond_help);
  if (target) return fetch_group(*target, out);
  fetch_.stop();
  release_fetched();
}

// Of a fetch that was given up.
void Recovery::release_fetched() {
  if (!fetch_.has_kept()) return given_up_at_.reset();
  if (!given_up_at_) given_up_at_ = context_.now;
  const bool is_over = context_.now - *given_up_at_ >= kGivenUpKeptFor;
  if (is_over && !execution_.is_asking_for_state()) fetch_.release_kept();
}

bool Recovery::is_waiting(bool beyond_help) const {
  if (context_.is_asking() || execution_.is_frozen()) return false;
  const bool has_own = own_to_restore() != nullptr && !own_failed_;
  const bool is_lost = execution_.is_unreliable() && !has_own;
  return (is_lost || is_stuck()) && !wanted(beyond_help);
}

void Recovery::ask_for_checkpoint() {
  if (!waiting_since_) waiting_since_ = context_.now;
  if (context_.now - *waiting_since_ < kStateAwaitedFor) return;
  waiting_since_ = context_.now;
  execution_.ask_for_checkpoint(checkpoints_.stable_sequence() + 1);
}

void Recovery::bound_record(ReplicaActions& out) {
  const std::uint64_t stable = checkpoints_.stable_sequence();
  const std::uint64_t reach = base_.sequence() + log_.capacity();
  const bool is_short = reach < stable + context_.settings.window;
  const std::uint64_t bytes = context_.journal.bytes();
  const std::uint64_t share = context_.settings.log_bytes_max;
  const bool is_urgent = is_short || bytes > share || log_.left_bytes() > share;
  base_.advance(std::min(stable, context_.progress.last_executed), is_urgent, log_.left_bytes() > 0,
                out);
  facts_ = record_facts();
  const RecordUse use = record_use(facts_);
  const bool is_spare = use == RecordUse::spare;
  const std::uint64_t bytes_max =
      is_spare ? context_.settings.record_bytes_max() : context_.settings.record_kept_max();
  // Nor can a restart go on from the base where the record has gone further meanwhile.
  const bool is_beyond = is_spare || (base_.has() && context_.journal.last() > reach);
  if ((is_short && is_beyond) || context_.journal.stable_bytes() > bytes_max) {
    const bool is_well = facts_.is_untold && !facts_.is_service_lost;
    if (!is_well || !base_.advance_untold(stable, out)) {
      context_.journal.let_go(stable, out);
      log_.let_bodies_go(stable);
    }
    // A restart that went back to it could not go on from there, and would leave the origin in it.
    if (is_well && !base_.is_flushing()) base_.forget_state(out);
  }
  if (is_spare && log_.left_bytes() > bytes_max) log_.let_bodies_go(stable);
  context_.restart_reach = base_.has() && !is_spare ? reach : UINT64_MAX;
  context_.restart_bytes =
      use == RecordUse::only_way ? context_.settings.record_bytes_max() + 2 * share : UINT64_MAX;
}

RecordFacts Recovery::record_facts() const {
  const CheckpointClaim stable = checkpoints_.stable();
  const std::uint64_t executed = context_.progress.last_executed;
  const CheckpointClaim* own = snapshots_.newest_whole_up_to(executed);
  const bool is_telling = execution_.state() == ExecutionStage::State::snapshotting;
  RecordFacts facts;
  facts.is_base_refused = base_.is_refused();
  facts.is_service_lost = execution_.is_unreliable();
  facts.is_untold = executed >= stable.sequence && !is_telling &&
                    (own == nullptr || own->sequence < stable.sequence);
  facts.is_state_claimed = stable.service != Digest{};
  facts.are_replies_claimed = stable.replies != Digest{};
  facts.is_claim_recent = stable.sequence > context_.resumed_to;
  const CheckpointClaim* next = snapshots_.newest_whole_up_to(std::min(stable.sequence, executed));
  facts.is_base_coming = next != nullptr && next->sequence > base_.sequence();
  facts.way = way_back();
  return facts;
}

WayBack Recovery::way_back() const {
  const std::uint64_t first = log_.first_retained();
  const Progress& progress = context_.progress;
  const bool is_from_service = !execution_.is_unreliable() && first <= progress.last_executed + 1 &&
                               progress.last_ordered >= context_.dropped_until;
  if (is_from_service || own_to_restore() != nullptr) return WayBack::state;
  const bool is_from_base = base_.has() && first <= base_.sequence() + 1;
  return is_from_base ? WayBack::sessions : WayBack::none;
}

bool Recovery::keeps_way() const {
  const bool is_elsewhere = facts_.is_state_claimed && facts_.is_claim_recent;
  if (!context_.journal.is_kept() || is_elsewhere || way_back() == WayBack::none) return false;
  const std::uint64_t bytes_max = context_.settings.record_kept_max();
  return log_.bytes() <= bytes_max || log_.stable_content_bytes(log_.first_retained()) <= bytes_max;
}

const CheckpointClaim* Recovery::own_to_restore() const {
  // After a start nothing is executed before the base is restored, which may take several attempts.
  const CheckpointClaim* own =
      snapshots_.newest_whole_up_to(std::max(context_.progress.last_executed, base_.sequence()));
  return own != nullptr && log_.first_retained() <= own->sequence + 1 ? own : nullptr;
}

// A state that f+1 have claimed is nearer than another attempt, if they still have it.
void Recovery::end_comparison(ReplicaActions& out) {
  const auto comparison = execution_.comparison();
  if (!comparison) return;
  if (context_.now < end_of(*comparison)) return;
  const CheckpointClaim* own = own_to_restore();
  // Nothing that was repeated lies behind its checkpoint any more.
  if (own != nullptr && own->sequence >= repeated_up_to_) repeats_ = 0;
  if (own == nullptr || repeats_ == kRepeatsMax) return execution_.keep_uncertain(out);
  if (context_.now < not_before_) return;
  ++repeats_;
  repeated_up_to_ =
      repeats_ == 1 ? comparison->sequence : std::max(repeated_up_to_, comparison->sequence);
  ++context_.counters.writes_repeated;
  const CheckpointClaim stable = checkpoints_.stable();
  const bool is_behind = stable.sequence >= comparison->sequence && stable.service != Digest{};
  repeats_at_ = is_behind ? context_.now + kGroupAwaitedFor : context_.now;
  execution_.drop_uncertain(out);
}

bool Recovery::restore_own() {
  const CheckpointClaim* own = own_to_restore();
  if (own == nullptr) return false;
  repeats_at_.reset();
  service_ = is_astray() ? Service::astray : Service::as_it_was;
  state_ = State::own;
  fetch_.stop();
  execution_.begin_restore(*own);
  return true;
}

void Recovery::fetch_group(const CheckpointClaim& target, ReplicaActions& out) {
  given_up_at_.reset();
  // Its holders may have gone on, or this replica has, and would go back to it: the log need not
  // lead on from there. What was fetched is not fetched again.
  const bool is_passed = !execution_.is_unreliable() && !is_astray() &&
                         fetch_.target().sequence <= context_.progress.last_executed;
  const bool is_overtaken = fetch_.target().sequence < target.sequence && fetch_.is_stalled();
  if (is_passed || is_overtaken) fetch_.stop();
  switch (fetch_.state()) {
    case StateFetch::State::idle:
      fetch_.begin(target, checkpoints_.holders(), trust_, out);
      break;
    case StateFetch::State::failed:
      fetch_.stop();
      own_failed_ = false;  // its own is tried again
      execution_.ask_for_checkpoint(checkpoints_.stable_sequence() + 1);
      return pause();
    case StateFetch::State::fetching:
    case StateFetch::State::complete:
      break;
  }
  if (fetch_.state() != StateFetch::State::complete) return;
  const CheckpointClaim whole = fetch_.target();
  fetch_.stop();
  if (is_astray()) disown(whole.sequence, out);
  if (!snapshots_.add(whole)) {
    not_before_ = context_.now + kPauseAtFirst;
    return;
  }
  if (!execution_.is_asking_for_state()) fetch_.release_kept();
  state_ = State::group;
  execution_.begin_restore(whole);
}

// Nothing begins from a state that was found wrong, now that another one is here.
void Recovery::disown(std::uint64_t from, ReplicaActions& out) {
  if (base_.has() && base() >= from) base_.give_up(out);
  snapshots_.disown_from(from);
}

void Recovery::on_restored(bool done) {
  const bool was_astray = is_astray();
  const ExecutionStage::Restored restored = execution_.on_restored(done);
  // The disk may have lost parts of the service's state, or of the sessions beside it.
  const bool has_failed = restored == ExecutionStage::Restored::failed;
  // That from which a restart has begun, as well: without another one it is tried again.
  const bool was_own = state_ != State::group;
  own_failed_ = was_own && has_failed;
  // Its own claim is as good as before. A state of the group's needs no comparison, but what is
  // executed from there does.
  judged_ = state_ == State::group ? context_.progress.last_executed : 0;
  state_ = State::nothing;
  repeats_at_.reset();
  checkpoints_.end_watch();
  if (was_astray) service_ = is_back() ? Service::back : Service::as_it_was;
  if (restored == ExecutionStage::Restored::done) {
    state_ = State::replaced;
    service_ = Service::as_it_was;
    trust_ = StateFetch::Trust::pins;
  }
  if (has_failed) trust_ = StateFetch::Trust::bytes;
  // A service that goes wrong again and again is not restored as often. How often a write is
  // repeated is bounded, and what comes behind it waits.
  if (has_failed || was_astray) {
    pause();
    if (was_own && has_failed) service_ = Service::back;
  } else if (was_own && repeats_ > 0) {
    not_before_ = context_.now + kPauseAtFirst;
  }
}

bool Recovery::is_past_base() const {
  return execution_.has_sessions() && base_.has() &&
         context_.progress.last_ordered >= base_.sequence();
}

bool Recovery::knows_sessions() const {
  if (context_.membership.state_lost) return false;
  if (is_past_base()) return true;
  const CheckpointClaim* base = base_.has() ? snapshots_.find(base_.sequence()) : nullptr;
  return base != nullptr && log_.first_retained() <= base->sequence + 1;
}

bool Recovery::adopt(std::uint64_t sequence, ReplicaActions& out) {
  ASSERT(knows_sessions());
  fetch_.stop();
  const CheckpointClaim* base = is_past_base() ? nullptr : snapshots_.find(base_.sequence());
  if (!execution_.adopt(sequence, base, out)) return false;
  // To what was before there is no way back: what came behind it is not executed here.
  base_.forget_state(out);
  snapshots_.disown_from(0);
  state_ = State::replaced;
  service_ = Service::as_it_was;
  own_failed_ = false;
  pause_ = Duration::zero();
  not_before_ = context_.now;
  repeats_at_.reset();
  judged_ = 0;
  checkpoints_.end_watch();
  return true;
}

void Recovery::trim() {
  const auto sequence_of = [](const CheckpointClaim* claim) {
    return claim != nullptr ? claim->sequence : 0;
  };
  // The newest of its own is what it goes back to when its service fails, however far it lags.
  const std::array kept{
      base_.sequence(), sequence_of(execution_.to_restore()), base_.flushing(),
      sequence_of(snapshots_.newest_whole_up_to(context_.progress.last_executed))};
  snapshots_.trim(checkpoints_.stable_sequence(), kept, context_.now);
}

void Recovery::on_tick(ReplicaActions& out) {
  fetch_.on_tick(out);
  server_.on_tick(out);
}

TimePoint Recovery::next_timer() const {
  TimePoint next = std::min(fetch_.next_timer(), server_.next_timer());
  if (context_.now < not_before_) next = std::min(next, not_before_);
  if (checkpoints_.watched() != nullptr) {
    next = std::min(next, watched_since_ + kClaimsAwaitedFor);
  }
  if (const auto comparison = execution_.comparison()) {
    const TimePoint over_at = end_of(*comparison);
    if (context_.now < over_at) next = std::min(next, over_at);
  }
  if (repeats_at_ && !may_repeat()) next = std::min(next, *repeats_at_);
  if (given_up_at_ && context_.now < *given_up_at_ + kGivenUpKeptFor) {
    next = std::min(next, *given_up_at_ + kGivenUpKeptFor);
  }
  if (waiting_since_ && context_.now < *waiting_since_ + kStateAwaitedFor) {
    next = std::min(next, *waiting_since_ + kStateAwaitedFor);
  }
  if (lagging_since_ && !is_stuck()) next = std::min(next, *lagging_since_ + patience());
  return next;
}

bool Recovery::on_fetch_parts(ByteView frame, ReplicaActions& out) {
  const auto refuse = [&](DropReason reason) {
    context_.drop(reason);
    return false;
  };
  const auto message = decode_fetch_parts(frame, context_.quorum.replicas);
  if (!message) return refuse(DropReason::malformed);
  if (!context_.is_peer(message->replica)) return false;
  if (!context_.is_authentic(message->replica, message->content, message->authenticator))
    return false;
  snapshots_.touch(message->sequence, context_.now);
  server_.serve(message->replica, message->parts, out);
  return true;
}

}  // namespace prophecy::pbft

#include "sketcher/core/read/read_machine.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "history_table/partition.hpp"
#include "sketcher/core/read/mutation.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedKind;
using Kind = ReadAction::Kind;

namespace {

bool is_too_slow(ExchangeEnd end) {
  return end == ExchangeEnd::timed_out || end == ExchangeEnd::delayed || end == ExchangeEnd::quiet;
}

// Status for a failure of one origin with no fallback.
std::uint16_t status_of(ExchangeEnd end) {
  if (is_too_slow(end)) return 504;
  if (end == ExchangeEnd::shed) return 503;
  return http::is_unsent(end) ? 503 : 502;
}

std::string_view reason_of(ExchangeEnd end) {
  if (is_too_slow(end)) return "origin-too-slow";
  if (end == ExchangeEnd::too_large) return "answer-too-large";
  if (end == ExchangeEnd::shed) return "overloaded";
  return http::is_unsent(end) ? "origin-unavailable" : "origin-answer-unusable";
}

bool comes_without_body(const http::Response& response) {
  return response.status == 204 || response.status == 304 ||
         response.fields.find("content-length") == "0";
}

}  // namespace

void ReadMachine::start(const ReadRequest& request, GroupCore& group, TimePoint now) {
  ASSERT(state_ == State::idle);
  ++serial_;
  request_ = request;
  group_ = &group;
  raising_.reset();
  if (!request.was_moved) refused_view_ = 0;
  const sketch::RequestForm& form = *request.form;
  const bool is_off = is_unverified(request.mode);
  // One origin is asked only with what is in memory.
  const bool is_for_one = is_off && request.is_options && form.large_body == nullptr;
  const bool is_call = !form.is_read && !is_for_one;
  if (!request.was_moved) (is_call ? request.counters->writes : request.counters->reads).add();
  if (is_call) return ask_call(ReplicatedKind::ordered);
  start_read(now);
}

void ReadMachine::start_read(TimePoint now) {
  large_rounds_ = 0;
  began_seconds_ = activity_seconds(now);
  if (is_streamed()) {
    // As long as bytes come, it goes on.
    return ask_one({.piece_bytes = BodyRelay::kStreamPieceBytes, .is_streamed = true}, now);
  }
  arm_deadline();
  if (is_unverified(request_.mode)) {
    if (request_.form->is_head) return ask_one({.is_head = true}, now);
    return ask_one({.piece_bytes = BodyRelay::kPieceBytes, .whole_bytes = worker_.answer_bytes_max},
                   now);
  }
  if (request_.mode == RouteMode::observe || request_.listed != Mark::none) {
    return start_delay_once(now);
  }
  switch (request_.reads) {
    case Reads::delay_once:
      return start_delay_once(now);
    case Reads::replicated:
      return ask_call(ReplicatedKind::ordered);
    case Reads::read_only:
      return ask_call(ReplicatedKind::read_only);
  }
  UNREACHABLE();
}

void ReadMachine::start_delay_once(TimePoint now) {
  if (request_.budget != nullptr) request_.budget->on_read();
  ReadGroup& group = group_->group;
  const auto place = group.floors().place_of(request_.form->authority, request_.form->target);
  slot_ = place.slot;
  group.floors().prefetch(slot_);
  if (!take_claim(place.partition)) return move();
  key_ = key_in(place.partition, group.sketch().of(*request_.form));
  floor_ = group.floors().at(slot_);
  origin_sketch_.reset();
  algorithm_.emplace();
  out_of_date_ = OutOfDate::no;
  const auto entry = has_history_ ? look_up() : std::nullopt;
  first_lookup_ = entry;
  const bool is_enforced = request_.mode == RouteMode::enforce;
  is_blacklisted_ = entry.has_value() && entry->mark == Mark::blacklisted;
  if (is_enforced && is_blacklisted_) request_.counters->blacklisted.add();
  if (is_enforced && avoids_fast_read(entry, now)) {
    request_.counters->avoided.add();
    const ReadStep step = algorithm_->on_request(entry, true);
    ASSERT(step == ReadStep::ask_group);
    return ask_shared_within_budget(true, now);
  }
  const ReadStep step = algorithm_->on_request(entry);
  if (step == ReadStep::ask_group && is_enforced) return ask_shared(true, now);
  // Answers in blocks cannot be observed: unverified bytes of them are not at hand.
  const bool is_remembered = step == ReadStep::ask_one && entry->mark == Mark::none;
  if (is_remembered && start_remembered(entry->answer)) return;
  ask_one({.is_head = request_.form->is_head, .is_verified = is_remembered && is_enforced}, now);
}

bool ReadMachine::take_claim(Partition partition) {
  has_history_ = true;
  if (!group_->group.has_ring()) return true;
  claim_ = group_->group.claim(partition);
  const auto basis = group_->group.basis(claim_);
  has_history_ = basis == dht::Basis::history;
  return basis.has_value();
}

ReadAlgorithm::Lookup ReadMachine::look_up() {
  const HistoryEntry listed{.answer = {}, .sigma = 0, .mark = request_.listed};
  if (request_.listed == Mark::blacklisted) return listed;
  ReadGroup& group = group_->group;
  const auto entry = group.table().lookup(key_);
  if (request_.listed == Mark::whitelisted) {
    return entry && entry->mark == Mark::blacklisted ? entry : listed;
  }
  const WriteFloors& floors = group.floors();
  const auto admitted = floors.admit(entry, slot_);
  if (entry && !admitted && out_of_date_ == OutOfDate::no) {
    const bool was_written = floors.was_written_since(*entry, slot_);
    out_of_date_ = was_written ? OutOfDate::by_write : OutOfDate::by_import;
    request_.counters->out_of_date.add();
  }
  return admitted;
}

ReadAlgorithm::Lookup ReadMachine::second_look_up(const std::optional<Sketch>& answer) {
  if (is_mutated(Mutation::one_lookup)) return first_lookup_;
  if (is_mutated(Mutation::floor_at_first_only)) return group_->group.table().lookup(key_);
  auto entry = look_up();
  if (is_mutated(Mutation::any_former) && entry && answer && is_former(*answer)) {
    entry->answer = *answer;
  }
  return entry;
}

bool ReadMachine::avoids_fast_read(const ReadAlgorithm::Lookup& entry, TimePoint now) {
  const bool is_usable = entry && entry->mark == Mark::none && entry->answer != kNoSketch;
  // Without budget for it, an origin is still to be had.
  return is_usable && group_->group.activity().avoids_fast_read(key_, began_seconds_) &&
         is_within_budget(true, now);
}

ActivityTable::Request ReadMachine::activity() const {
  return {.key = key_,
          .route = request_.route,
          .is_head = request_.form->is_head,
          .authority = request_.form->authority,
          .target = request_.form->target};
}

bool ReadMachine::is_within_budget(bool may_share, TimePoint now) {
  if (request_.budget == nullptr || out_of_date_ == OutOfDate::by_write) return true;
  if (may_share && group_->shared.would_share(key_, claim_)) return true;
  if (is_mutated(Mutation::budget_ignored)) return true;
  return request_.budget->take(request_.form->client, now);
}

bool ReadMachine::is_forced() {
  constexpr std::uint32_t kRolls = 1U << 20;
  return worker_.forced_share > 0 && group_->group.roll(kRolls) < worker_.forced_share * kRolls;
}

void ReadMachine::ask_one(const replica_client::FastForm& asked, TimePoint now) {
  state_ = State::fast;
  may_be_unverified_ = !asked.is_verified;
  // An origin that has a stream's request, and does not answer it, has had all the time there is.
  const bool is_replaced = !algorithm_ && !asked.is_streamed;
  const auto failing =
      is_replaced ? OriginAsks::Failing::to_another : OriginAsks::Failing::to_group;
  const bool may_hedge = request_.may_hedge && !asked.is_streamed;
  asks_.start(group_->group, *request_.counters, failing, may_hedge, asked, now);
}

void ReadMachine::ask_call(ReplicatedKind kind) {
  const sketch::RequestForm& form = *request_.form;
  ReadGroup& group = group_->group;
  // Before the claim: an ownership that is over by this view has no claim any more.
  call_view_ = group.view();
  const bool has_claim = !group.has_ring() ||
                         take_claim(group.floors().place_of(form.authority, form.target).partition);
  // The group would refuse it again.
  const bool is_refused = refused_view_ != 0 && call_view_ <= refused_view_;
  // The ring has begun since the view was read: the call would name none, and never be refused.
  const bool is_unnamed = call_view_ == 0 && group.view() != 0;
  if (!has_claim || is_refused || is_unnamed) return move();
  state_ = State::ordered;
  call_kind_ = kind;
  submitted_ = group.order().submit();
  actions_.add(Kind::ask_group);
}

void ReadMachine::ask_shared(bool may_share, TimePoint now) {
  may_share = may_share && !is_blacklisted_ && has_history_;
  if (!is_within_budget(may_share, now)) {
    request_.counters->over_budget.add();
    return fail(503, "slow-path-budget");
  }
  ask_shared_within_budget(may_share, now);
}

void ReadMachine::ask_shared_within_budget(bool may_share, TimePoint now, bool asks_again) {
  // The call would be of an ownership that is over.
  const bool is_owner = may_accept(has_history_ ? dht::Basis::history : dht::Basis::group);
  if (!is_owner) return move();
  if (!asks_again) group_->group.activity().on_group_read(activity(), activity_seconds(now));
  state_ = State::shared;
  const bool is_asked = group_->shared.ask(key_, *request_.form, request_.method,
                                           {.algorithm = *algorithm_,
                                            .evidence = std::exchange(evidence_, std::nullopt),
                                            .waiter = &waiter_,
                                            .counters = request_.counters,
                                            .may_share = may_share,
                                            .asks_again = asks_again,
                                            .claim = claim_});
  ASSERT(is_asked);
}

void ReadMachine::on_origin_answer(std::uint8_t slot, http::Response& response, TimePoint now) {
  if (state_ == State::relaying) {
    return on_relay(large_->relay.on_end(ExchangeEnd::answered, response), now);
  }
  ASSERT(state_ == State::fast);
  if (asks_.on_end(slot, ExchangeEnd::answered, now) == OriginAsks::Step::over) {
    on_fast_answer(slot, response, now);
  }
}

void ReadMachine::on_origin_failure(std::uint8_t slot, ExchangeEnd end, TimePoint now) {
  if (state_ == State::relaying) {
    http::Response none;
    return on_relay(large_->relay.on_end(end, none), now);
  }
  ASSERT(state_ == State::fast);
  if (asks_.on_end(slot, end, now) != OriginAsks::Step::over) return;
  const bool is_judged = algorithm_ && algorithm_->awaits_fast_answer();
  if (end != ExchangeEnd::too_large || !is_judged) return on_fast_failure(end, now);
  Evidence evidence;
  evidence.replica = asks_.replica(slot);
  on_too_large_answer(std::move(evidence), now);
}

void ReadMachine::on_origin_progress(std::uint8_t slot, http::Response& response, TimePoint now) {
  if (state_ == State::relaying) return on_relay(large_->relay.on_progress(response), now);
  ASSERT(state_ == State::fast);
  // One without a body is whole at once.
  if (asks_.asked().is_streamed && comes_without_body(response)) return;
  asks_.on_pieces(slot, now);
  open_unverified(slot, response, now);
}

void ReadMachine::on_fast_answer(std::uint8_t slot, http::Response& response, TimePoint now) {
  ReadGroup& group = group_->group;
  const NodeId replica = asks_.replica(slot);
  if (algorithm_) {  // for the second look-up
    group.table().prefetch(key_);
    group.floors().prefetch(slot_);
  }
  sketch::AnswerForm form;
  const bool is_head = request_.form->is_head;
  const bool is_usable =
      group.read_answer(replica, response, is_head, form) == sketch::AnswerFault::none;
  const bool is_judged = algorithm_ && algorithm_->awaits_fast_answer();
  asks_.count_answer(replica, is_usable || is_judged);
  if (!algorithm_) return on_unjudged_answer(form, is_usable, response, now);
  if (group.is_for_blocks(form, is_head)) {
    if (!is_judged) return on_fast_failure(ExchangeEnd::too_large, now);
    return on_too_large_answer(Evidence::of(replica, form, std::nullopt), now);
  }
  group.table().prefetch_entry(key_);
  group.activity().prefetch(key_);
  const std::optional<Sketch> sketch = is_usable ? group.sketch_of(form) : std::nullopt;
  origin_sketch_ = sketch;
  if (!is_judged) {  // observed, and not in the history yet
    if (!is_usable) return on_fast_failure(ExchangeEnd::malformed, now);
    return deliver_observed(form, response, now);
  }
  const auto second = second_look_up(sketch);
  // The look-up counts if the partition is still ours after it.
  if (!may_accept(dht::Basis::history) && !is_mutated(Mutation::look_up_unchecked)) {
    if (request_.mode == RouteMode::enforce) return move();
    if (!is_usable) return on_fast_failure(ExchangeEnd::malformed, now);
    request_.counters->answered_unverified.add();
    return deliver(form, std::nullopt, &response.body);
  }
  const ReadStep step = algorithm_->on_fast_answer(sketch, second, is_forced());
  if (step == ReadStep::deliver_unverified) {
    // Whitelisted since it was asked for: it may be another request's, and is asked for again.
    if (!may_be_unverified_) return start_delay_once(now);
    request_.counters->answered_unverified.add();
    request_.counters->whitelisted.add();
    return deliver(form, std::nullopt, &response.body);
  }
  if (step == ReadStep::deliver_fast) {
    request_.counters->answered_fast.add();
    group.activity().on_hit(activity(), began_seconds_);
    // Another worker may have got the group's answer that the history holds.
    group_->accusations.on_agreed(key_, *sketch);
    return deliver(form, sketch, &response.body, true);
  }
  if (algorithm_->was_forced()) {
    request_.counters->forced_transitions.add();
  } else {
    evidence_ = Evidence::of(replica, form, sketch);
    evidence_->floor = floor_;
    if (form.status == 0) {  // without a canonical form its status and body are evidence
      evidence_->status = response.status;
      evidence_->body.assign(response.body, 0, Evidence::kBodyBytesMax);
      evidence_->body_bytes = response.body.size();
    }
  }
  if (request_.mode == RouteMode::enforce || !is_usable) return ask_shared(true, now);
  deliver_observed(form, response, now);
}

// On a route that is off.
void ReadMachine::on_unjudged_answer(const sketch::AnswerForm& form, bool is_usable,
                                     http::Response& response, TimePoint now) {
  if (!is_usable) {
    return asks_.ask_another(now) ? void() : on_fast_failure(ExchangeEnd::malformed, now);
  }
  request_.counters->answered_unverified.add();
  if (is_mutated(Mutation::unverified_tagged)) return deliver(form, Sketch{}, &response.body);
  deliver(form, std::nullopt, &response.body);
}

void ReadMachine::on_too_large_answer(Evidence evidence, TimePoint now) {
  const ReadStep step =
      algorithm_->on_fast_answer(std::nullopt, second_look_up(std::nullopt), false);
  ASSERT(step == ReadStep::ask_group);
  evidence.is_too_large = true;
  evidence.floor = floor_;
  evidence_ = std::move(evidence);
  ask_shared(true, now);
}

// The client gets the answer as it is; the group is asked all the same.
void ReadMachine::deliver_observed(const sketch::AnswerForm& form, http::Response& response,
                                   TimePoint now) {
  request_.counters->answered_unverified.add();
  const bool may_share = !is_blacklisted_ && has_history_;
  const bool is_asked = is_within_budget(may_share, now) &&
                        group_->shared.ask(key_, *request_.form, request_.method,
                                           {.algorithm = *algorithm_,
                                            .evidence = std::exchange(evidence_, std::nullopt),
                                            .waiter = nullptr,
                                            .counters = request_.counters,
                                            .may_share = may_share,
                                            .claim = claim_});
  if (is_asked) group_->group.activity().on_group_read(activity(), began_seconds_);
  if (!is_asked) request_.counters->unobserved.add();
  deliver(form, std::nullopt, &response.body);
}

void ReadMachine::on_fast_failure(ExchangeEnd end, TimePoint now) {
  if (!algorithm_) return fail(status_of(end), reason_of(end));
  if (algorithm_->awaits_fast_answer()) {
    const ReadStep step = algorithm_->on_fast_failure();
    ASSERT(step == ReadStep::ask_group);
  }
  ask_shared(true, now);
}

void ReadMachine::on_group_answer(const ReplicatedAnswer& answer) {
  ASSERT(state_ == State::ordered);
  // A read-only call without enough equal votes was ordered after all.
  const bool is_ordered = answer.sigma != 0;
  RequestCounters& counters = *request_.counters;
  Counter& answered = is_ordered ? counters.answered_replicated : counters.answered_read_only;
  SigmaOrder::Placed placed;
  if (is_ordered) placed = group_->group.order().place(submitted_, answer.sigma);
  if (placed.restarted) counters.group_restarts.add();
  // Nothing of the request is done yet, unless it is a write.
  if (!changes_state() && !group_->group.basis(claim_)) return move();
  OwedFloors owed;
  if (!request_.form->is_read) owed = on_write_answered(answer.form, placed);
  if (owed.empty()) return answer_ordered(answer.form, answered);
  wait_for_floors({.owed = std::move(owed),
                   .answer = sketch::encode(answer.form),
                   .refusal = {},
                   .answered = &answered});
}

void ReadMachine::answer_ordered(const sketch::AnswerForm& form, Counter& answered) {
  if (form.in_blocks()) return start_agreed(form, std::nullopt, answered);
  answered.add();
  deliver(form, std::nullopt);
}

// Before its client can know.
OwedFloors ReadMachine::on_write_answered(const sketch::AnswerForm& form,
                                          const SigmaOrder::Placed& placed) {
  if (!request_.is_options) group_->shared.on_write();
  if (!request_.has_invalidation || !invalidates(request_.method, form.status)) return {};
  request_.counters->invalidations.add();
  if (is_mutated(Mutation::no_floors)) return {};
  return invalidate(worker_, *group_,
                    {.scheme = request_.scheme,
                     .authority = request_.form->authority,
                     .target = request_.form->target},
                    form, placed);
}

void ReadMachine::on_group_failure(ReplicatedFailure failure) {
  ASSERT(state_ == State::ordered);
  if (failure == ReplicatedFailure::view_too_old && call_view_ != 0) {
    request_.counters->replicated_failures[static_cast<std::size_t>(failure)].add();
    refused_view_ = call_view_;
    return move();
  }
  // A write that has left may have been carried out for all that.
  const bool has_left =
      failure != ReplicatedFailure::writes_refused && failure != ReplicatedFailure::overloaded &&
      failure != ReplicatedFailure::view_too_old && failure != ReplicatedFailure::view_too_new;
  if (changes_state() && has_left) group_->shared.on_write();
  request_.counters->replicated_failures[static_cast<std::size_t>(failure)].add();
  const Refused refusal{replica_client::status_of(failure), replica_client::to_string(failure)};
  if (failure == ReplicatedFailure::uncertain_write && request_.has_invalidation) {
    request_.counters->invalidations.add();
    const sketch::RequestForm& form = *request_.form;
    if (!group_->group.make_out_of_date(form.authority, form.target)) {
      return wait_for_floors(
          {.owed = {{.group = group_, .authority = form.authority, .target = form.target}},
           .answer = {},
           .refusal = refusal});
    }
  }
  fail(refusal.status, refusal.reason);
}

// It is not sent again. Its client waits for the answer until no reader is given an older one.
void ReadMachine::wait_for_floors(Raising outcome) {
  state_ = State::raising;
  raising_ = std::make_unique<Raising>(std::move(outcome));
  if (!is_deadline_armed_) arm_deadline();  // a read has one
  actions_.add(Kind::raise_floors);
}

void ReadMachine::on_floor_raised(std::size_t index) {
  ASSERT(state_ == State::raising && index < raising_->owed.size());
  raising_->owed[index].group = nullptr;
  end_raising();
}

void ReadMachine::on_floor_time() {
  ASSERT(state_ == State::raising);
  for (OwedFloor& floor : raising_->owed) {
    if (floor.group != nullptr && floor.raise()) floor.group = nullptr;
  }
  end_raising();
  if (state_ == State::raising) actions_.add(Kind::raise_floors);
}

void ReadMachine::end_raising() {
  const bool waits = std::any_of(raising_->owed.begin(), raising_->owed.end(),
                                 [](const OwedFloor& floor) { return floor.group != nullptr; });
  if (waits) return;
  actions_.add(Kind::cancel_floors);
  disarm_deadline();
  if (raising_->answer.empty()) return fail(raising_->refusal.status, raising_->refusal.reason);
  const auto form = sketch::decode(raising_->answer);
  ASSERT(form.has_value());
  answer_ordered(*form, *raising_->answered);
}

void ReadMachine::on_shared_result(const SharedResult& result, TimePoint now) {
  ASSERT(state_ == State::shared);
  RequestCounters& counters = *request_.counters;
  switch (result.kind) {
    case SharedResult::Kind::answered:
      if (result.form->in_blocks()) {
        return start_agreed(*result.form, result.sketch, counters.answered_replicated);
      }
      counters.answered_replicated.add();
      return deliver(*result.form, result.sketch, nullptr, true);
    case SharedResult::Kind::moved:
      return move();
    case SharedResult::Kind::failed:
      counters.replicated_failures[static_cast<std::size_t>(result.failure)].add();
      return fail(replica_client::status_of(result.failure),
                  replica_client::to_string(result.failure));
    case SharedResult::Kind::outdated:
      // All reads that ask again share one call: one at most for each that was within the budget.
      return ask_shared_within_budget(true, now, true);
    case SharedResult::Kind::is_anothers:
      out_of_date_ = OutOfDate::no;  // the call has made up for the write: this one is charged
      return ask_shared(false, now);
  }
  UNREACHABLE();
}

void ReadMachine::set_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                             bool is_borrowed) {
  answer_ = form;
  answer_sketch_ = sketch;
  is_borrowed_ = is_borrowed;
  forms_read_ = group_->group.forms_read();
}

void ReadMachine::arm_deadline() {
  is_deadline_armed_ = true;
  actions_.add(Kind::arm_deadline);
}

void ReadMachine::disarm_deadline() {
  if (std::exchange(is_deadline_armed_, false)) actions_.add(Kind::disarm_deadline);
}

void ReadMachine::deliver(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                          std::string* storage, bool is_verified) {
  set_answer(form, sketch, storage != nullptr);
  finish();
  actions_.add({.kind = Kind::deliver, .whole = is_verified, .storage = storage});
}

void ReadMachine::fail(std::uint16_t status, std::string_view reason) {
  finish();
  request_.counters->failed.add();
  refusal_ = {status, reason};
  actions_.add(Kind::refuse);
}

void ReadMachine::move() {
  finish();
  request_.counters->moved.add();
  actions_.add(Kind::move);
}

void ReadMachine::abandon() {
  if (state_ == State::idle) return;
  const bool is_counted = state_ == State::relaying && large_->answered == nullptr;
  if (!is_counted) request_.counters->abandoned.add();
  ++serial_;
  stop();
}

void ReadMachine::on_deadline(const Ends& ends) {
  is_deadline_armed_ = false;
  if (state_ == State::fast) asks_.give_up(ends);
  const bool is_raising = state_ == State::raising;
  stop();
  fail(504, is_raising ? "owner-unavailable" : "read-timeout");
}

void ReadMachine::stop() {
  if (state_ == State::fast || state_ == State::opening) asks_.cancel();
  if (state_ == State::relaying) large_->relay.abandon();
  if (state_ == State::shared) group_->shared.leave(waiter_);
  if (state_ == State::ordered) actions_.add(Kind::cancel_group);
  if (state_ == State::raising) actions_.add(Kind::cancel_floors);
  finish();
}

void ReadMachine::finish() {
  state_ = State::idle;
  if (large_) {
    std::string().swap(large_->constant_wire);
    large_->list.reset();
  }
  disarm_deadline();
  algorithm_.reset();
  evidence_.reset();
}

}  // namespace prophecy::sketcher

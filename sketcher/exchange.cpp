#include "sketcher/exchange.hpp"

#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "sketcher/answer.hpp"
#include "sketcher/described_request.hpp"
#include "sketcher/write_invalidation.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedKind;

namespace {
std::uint16_t status_of(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
    case ReplicatedFailure::overloaded:
      return 503;
    case ReplicatedFailure::no_agreement:
    case ReplicatedFailure::uncertain_write:
      return 502;
    case ReplicatedFailure::writes_refused:
      return 405;
  }
  UNREACHABLE();
}

// Safe, as reads are, but nothing that the history remembers (RFC 9110, 9.3.7).
bool changes_nothing(const http::Request& request) {
  return request.method == "OPTIONS";
}

sketch::RequestContext known_of(const ClientInfo& client) {
  return {.scheme = client.scheme(),
          .client_address = client.address,
          .trusted_peers = client.trusted_peers};
}

// Of an origin whom nobody else stands in for.
std::uint16_t status_of(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::timed_out:
      return 504;
    default:
      return http::is_unsent(end) ? 503 : 502;
  }
}

std::string_view reason_of(ExchangeEnd end) {
  switch (end) {
    case ExchangeEnd::timed_out:
      return "origin-too-slow";
    case ExchangeEnd::too_large:
      return "answer-too-large";
    default:
      return http::is_unsent(end) ? "origin-unavailable" : "origin-answer-unusable";
  }
}

}  // namespace

Exchange::Exchange(WorkerContext& context, AnswerSink& sink)
    : context_(context), sink_(sink), fast_(context, *this), timeout_(*this) {}

Exchange::~Exchange() {
  abandon();
}

void Exchange::start(http::Request& request, const ClientInfo& client) {
  if (const auto refusal = admit(request, client)) return refuse(refusal->status, refusal->reason);
  const RouteSettings& route = *route_;
  const sketch::RequestContext known = known_of(client);
  if (mode_ == RouteMode::tunnel && asks_for_tunnel()) return start_tunnel(route, known);
  const auto refusal = context_.request_canonicalizer.canonicalize(
      request, known, group().profile(), form_, group().fields());
  if (refusal) return refuse(refusal->status, refusal->reason);
  if (request.body.capacity() > kKeptBytesMax) std::string().swap(request.body);
  request.large_body.reset();
  const bool is_off = mode_ == RouteMode::off || mode_ == RouteMode::tunnel;
  // One origin is asked with what is in memory alone.
  const bool is_for_one = is_off && changes_nothing(request) && form_.large_body == nullptr;
  if (!form_.is_read && !is_for_one) {
    counters_->writes.add();
    return ask_ordered(ReplicatedKind::ordered);
  }
  counters_->reads.add();
  start_read(route);
}

std::optional<sketch::Refusal> Exchange::refuse_by_head(const http::Request& request,
                                                        const ClientInfo& client,
                                                        std::uint64_t body_bytes) {
  auto refusal = admit(request, client);
  if (!refusal && form_.is_read && body_bytes > 0) refusal = sketch::kReadWithBody;
  if (!refusal) {
    refusal = context_.request_canonicalizer.refuse_fields(request, group().profile(), form_);
  }
  if (refusal) {
    count_refusal(refusal->reason);
    return refusal;
  }
  if (form_.is_read || changes_nothing(request) || !group().refuses_writes()) return std::nullopt;
  constexpr auto kFailure = ReplicatedFailure::writes_refused;
  counters_->writes.add();
  counters_->failed.add();
  counters_->replicated_failures[static_cast<std::size_t>(kFailure)].add();
  return sketch::Refusal{status_of(kFailure), to_string(kFailure)};
}

std::optional<sketch::Refusal> Exchange::admit(const http::Request& request,
                                               const ClientInfo& client) {
  ASSERT(state_ == State::idle);
  request_ = &request;
  counters_ = &context_.requests.back();
  scheme_ = client.scheme();
  if (auto refusal = context_.request_canonicalizer.locate(request, known_of(client), form_)) {
    return refusal;
  }
  const Router::Choice choice = context_.router.choose(form_.authority, form_.target);
  if (!choice.route) return refusal_of(choice.miss);
  const RouteSettings& route = context_.settings.routes[*choice.route];
  route_ = &route;
  listed_ = choice.mark;
  group_ = context_.groups[route.group].get();
  counters_ = &context_.requests[*choice.route];
  budget_ = context_.budgets[*choice.route].get();
  mode_ = context_.shared.route(*choice.route).mode();
  if (context_.shared.bypass() && mode_ != RouteMode::tunnel) mode_ = RouteMode::off;
  if (route.needs_client_certificate && !client.client_certificate_verified) {
    return sketch::Refusal{403, "client-certificate-required"};
  }
  return std::nullopt;
}

void Exchange::refuse(std::uint16_t status, std::string_view reason) {
  count_refusal(reason);
  sink_.on_error(status, reason);
}

void Exchange::count_refusal(std::string_view reason) {
  counters_->refused.add();
  context_.counters.refusals.add(reason);
}

bool Exchange::asks_for_tunnel() const {
  const http::FieldList& fields = request_->fields;
  return request_->method == "GET" && request_->version_minor >= 1 &&
         fields.count("upgrade") == 1 && http::nominates(fields, "upgrade");
}

void Exchange::start_tunnel(const RouteSettings& route, sketch::RequestContext known) {
  known.tunnels = true;
  const auto refusal = context_.request_canonicalizer.canonicalize(
      *request_, known, group().profile(), form_, group().fields());
  if (refusal) return refuse(refusal->status, refusal->reason);
  counters_->reads.add();
  TunnelRequest tunnel;
  tunnel.wire = form_.wire;
  tunnel.upgrade = *request_->fields.find("upgrade");
  tunnel.route = static_cast<std::uint32_t>(&route - context_.settings.routes.data());
  tunnel.group = group_;
  tunnel.counters = counters_;
  sink_.on_tunnel(std::move(tunnel));
}

void Exchange::start_read(const RouteSettings& route) {
  hedged_ = route.hedge;
  large_rounds_ = 0;
  const TimePoint now = std::chrono::steady_clock::now();
  began_seconds_ = activity_seconds(now);
  context_.read_timeouts.arm(timeout_, now);
  if (mode_ == RouteMode::off || mode_ == RouteMode::tunnel) {
    if (form_.is_head) return ask_one({.is_head = true});
    return ask_one({.piece_bytes = PassedAnswer::kPieceBytes,
                    .whole_bytes = context_.settings.limits.answer.body_bytes_max});
  }
  if (mode_ == RouteMode::observe || listed_ != Mark::none) return start_delay_once_read();
  switch (route.reads) {
    case Reads::delay_once:
      return start_delay_once_read();
    case Reads::replicated:
      return ask_ordered(ReplicatedKind::ordered);
    case Reads::read_only:
      return ask_ordered(ReplicatedKind::read_only);
  }
  UNREACHABLE();
}

void Exchange::start_delay_once_read() {
  if (budget_ != nullptr) budget_->on_read();
  slot_ = group().floors().slot_of(form_.authority, form_.target);
  group().floors().prefetch(slot_);
  key_ = group().sketch().of(form_);
  algorithm_.emplace();
  out_of_date_ = OutOfDate::no;
  const auto entry = look_up();
  is_blacklisted_ = entry.has_value() && entry->mark == Mark::blacklisted;
  if (mode_ == RouteMode::enforce && is_blacklisted_) counters_->blacklisted.add();
  if (mode_ == RouteMode::enforce && avoids_fast_read(entry)) {
    counters_->avoided.add();
    const ReadStep step = algorithm_->on_request(entry, true);
    ASSERT(step == ReadStep::ask_group);
    return ask_judge_within_budget(true);
  }
  const ReadStep step = algorithm_->on_request(entry);
  if (step == ReadStep::ask_group && mode_ == RouteMode::enforce) return ask_judge(true);
  // There is no observing it: what has not been verified of it is not at hand to be delivered.
  const bool remembered = step == ReadStep::ask_one && entry->mark == Mark::none;
  if (remembered && start_remembered(entry->answer)) return;
  ask_one({.is_head = form_.is_head, .is_verified = remembered && mode_ == RouteMode::enforce});
}

ReadAlgorithm::Lookup Exchange::look_up() {
  const HistoryEntry listed{.answer = {}, .sigma = 0, .mark = listed_};
  if (listed_ == Mark::blacklisted) return listed;
  const auto entry = context_.table.lookup(key_);
  if (listed_ == Mark::whitelisted)
    return entry && entry->mark == Mark::blacklisted ? entry : listed;
  const WriteFloors& floors = group().floors();
  const auto admitted = floors.admit(entry, slot_);
  if (entry && !admitted && out_of_date_ == OutOfDate::no) {
    const bool was_written = floors.was_written_since(*entry, slot_);
    out_of_date_ = was_written ? OutOfDate::by_write : OutOfDate::by_import;
    counters_->out_of_date.add();
  }
  return admitted;
}

bool Exchange::avoids_fast_read(const ReadAlgorithm::Lookup& entry) {
  const bool is_usable = entry && entry->mark == Mark::none && entry->answer != kNoSketch;
  // Without budget for it, an origin is still to be had.
  return is_usable && context_.activity.avoids_fast_read(key_, began_seconds_) &&
         is_within_budget(true);
}

ActivityTable::Request Exchange::activity() const {
  return {.key = key_,
          .route = static_cast<std::uint32_t>(counters_ - context_.requests.data()),
          .is_head = form_.is_head,
          .authority = form_.authority,
          .target = form_.target};
}

void Exchange::ask_one(const replica_client::FastForm& asked) {
  state_ = State::fast;
  may_be_unverified_ = !asked.is_verified;
  const auto failing = algorithm_ ? FastRead::Failing::to_group : FastRead::Failing::to_another;
  fast_.start(*group_, *counters_, form_, failing, hedged_, asked);
}

bool Exchange::is_within_budget(bool may_share) {
  if (budget_ == nullptr || out_of_date_ == OutOfDate::by_write) return true;
  if (may_share && group_->reads.would_share(key_)) return true;
  return budget_->take(form_.client, std::chrono::steady_clock::now());
}

void Exchange::ask_judge(bool may_share) {
  may_share = may_share && !is_blacklisted_;
  if (!is_within_budget(may_share)) {
    counters_->over_budget.add();
    return fail(503, "slow-path-budget");
  }
  ask_judge_within_budget(may_share);
}

void Exchange::ask_judge_within_budget(bool may_share, bool asks_again) {
  if (!asks_again) {
    const TimePoint now = std::chrono::steady_clock::now();
    context_.activity.on_group_read(activity(), activity_seconds(now));
  }
  state_ = State::judged;
  group_->reads.ask(key_, form_, request_->method,
                    {.algorithm = *algorithm_,
                     .evidence = std::exchange(evidence_, std::nullopt),
                     .waiter = this,
                     .counters = counters_,
                     .may_share = may_share,
                     .asks_again = asks_again});
}

void Exchange::ask_ordered(ReplicatedKind kind) {
  state_ = State::ordered;
  submitted_ = group().order().submit();
  replicated_call_ = group().group().replicated(kind, form_.wire, form_.large_body, *this);
  // The group has a copy. A read is small, and an origin may be asked for it yet.
  if (form_.is_read) return;
  if (form_.wire.capacity() > kKeptBytesMax) std::string().swap(form_.wire);
  form_.large_body.reset();
}

void Exchange::on_fast_read_end(NodeId replica, ExchangeEnd end, http::Response& response) {
  if (state_ == State::passing) return passed_->on_end(end, response);
  replica_ = replica;
  return end == ExchangeEnd::answered ? on_fast_answer(response) : on_fast_failure(end);
}

void Exchange::on_fast_read_progress(http::OriginExchange& exchange, http::Response& response) {
  if (state_ == State::fast) start_passing(exchange, response);
  if (state_ == State::passing && exchange.active()) passed_->on_progress(response);
}

void Exchange::on_fast_answer(http::Response& response) {
  if (algorithm_) {  // for the second look-up
    context_.table.prefetch(key_);
    group().floors().prefetch(slot_);
  }
  sketch::AnswerForm form;
  sketch::AnswerCanonicalizer& canonicalizer = group().answer_canonicalizer();
  const bool usable =
      canonicalizer.canonicalize(response, form_.is_head, form) == sketch::AnswerFault::none;
  if (!canonicalizer.leaked().empty()) group().on_leak(replica_, canonicalizer.leaked());
  const bool is_judged = algorithm_ && algorithm_->awaits_fast_answer();
  fast_.count_answer(replica_, usable || is_judged);
  if (!algorithm_) {  // off
    if (!usable) return fast_.ask_another() ? void() : on_fast_failure(ExchangeEnd::malformed);
    counters_->answered_unverified.add();
    return answer(form, std::nullopt, &response.body);
  }
  // The group agrees on such a one in blocks: it has another sketch there.
  const bool is_for_blocks = !form_.is_head && form.status == sketch::kStatusInBlocks &&
                             form.body.size() > group().profile().whole_answer_bytes();
  if (is_for_blocks) return on_fast_failure(ExchangeEnd::too_large);
  context_.table.prefetch_entry(key_);
  context_.activity.prefetch(key_);
  const std::optional<Sketch> sketch = usable ? group().sketch_of(form) : std::nullopt;
  if (!algorithm_->awaits_fast_answer()) {
    // Observed, and not in the history yet.
    if (!usable) return on_fast_failure(ExchangeEnd::malformed);
    return deliver_observed(form, sketch, response);
  }
  const ReadStep step = algorithm_->on_fast_answer(sketch, look_up(), is_forced());
  if (step == ReadStep::deliver_unverified) {
    // Whitelisted since it was asked for: it may be another request's, and is asked for again.
    if (!may_be_unverified_) return start_delay_once_read();
    counters_->answered_unverified.add();
    counters_->whitelisted.add();
    return answer(form, sketch, &response.body);
  }
  if (step == ReadStep::deliver_fast) {
    counters_->answered_fast.add();
    context_.activity.on_hit(activity(), began_seconds_);
    // Of an answer in the history, another worker may have heard the group.
    if (sketch) group_->reads.on_agreed(key_, *sketch);
    copy_to_shadows(form, sketch);
    return answer(form, sketch, &response.body);
  }
  if (algorithm_->was_forced()) {
    counters_->forced_transitions.add();
  } else {
    keep_as_evidence(form, sketch, response);
  }
  if (mode_ == RouteMode::enforce || !usable) return ask_judge(true);
  deliver_observed(form, sketch, response);
}

void Exchange::copy_to_shadows(const sketch::AnswerForm& form,
                               const std::optional<Sketch>& sketch) {
  if (group_->shadows == nullptr || !sketch) return;
  group_->shadows->on_read({.request = form_,
                            .method = request_->method,
                            .key = key_,
                            .answer = form,
                            .sketch = *sketch},
                           context_.random);
}

// The client gets it as it is; the group is asked all the same.
void Exchange::deliver_observed(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                                http::Response& response) {
  counters_->answered_unverified.add();
  const bool may_share = !is_blacklisted_;
  const bool asked = is_within_budget(may_share) &&
                     group_->reads.ask(key_, form_, request_->method,
                                       {.algorithm = *algorithm_,
                                        .evidence = std::exchange(evidence_, std::nullopt),
                                        .waiter = nullptr,
                                        .counters = counters_,
                                        .may_share = may_share});
  if (asked) context_.activity.on_group_read(activity(), began_seconds_);
  if (!asked) counters_->unobserved.add();
  answer(form, sketch, &response.body);
}

void Exchange::keep_as_evidence(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                                const http::Response& response) {
  evidence_ = Evidence{};
  evidence_->replica = replica_;
  evidence_->status = form.status != 0 ? form.status : response.status;
  evidence_->head.assign(form.head.begin(), form.head.end());
  evidence_->body.assign(response.body, 0, Evidence::kBodyBytesMax);
  evidence_->body_bytes = response.body.size();
  evidence_->sketch = sketch;
}

void Exchange::on_fast_failure(ExchangeEnd end) {
  if (!algorithm_) return fail(status_of(end), reason_of(end));
  if (algorithm_->awaits_fast_answer()) {
    const ReadStep step = algorithm_->on_fast_failure();
    ASSERT(step == ReadStep::ask_group);
  }
  ask_judge(true);
}

void Exchange::on_replicated_answer(ReplicatedAnswer replicated) {
  ASSERT(state_ == State::ordered);
  replicated_call_ = 0;
  // A read-only call without enough equal votes was ordered after all.
  const bool ordered = replicated.sigma != 0;
  Counter& answered = ordered ? counters_->answered_replicated : counters_->answered_read_only;
  if (ordered && group().order().place(submitted_, replicated.sigma).restarted) {
    counters_->group_restarts.add();
  }
  if (!form_.is_read) on_write_answered(replicated.form);
  if (replicated.form.in_blocks()) return start_agreed(replicated.form, std::nullopt, answered);
  answered.add();
  answer(replicated.form, std::nullopt);
}

// Before its client can know.
void Exchange::on_write_answered(const sketch::AnswerForm& form) {
  if (!changes_nothing(*request_)) group_->reads.on_write();
  if (!route_->write_invalidation || !invalidates(request_->method, form.status)) return;
  counters_->invalidations.add();
  invalidate(context_, group(),
             {.scheme = scheme_, .authority = form_.authority, .target = form_.target}, form);
}

void Exchange::on_replicated_failure(ReplicatedFailure failure) {
  ASSERT(state_ == State::ordered);
  replicated_call_ = 0;
  // It may have been carried out for all that, if it has left.
  const bool has_left =
      failure != ReplicatedFailure::writes_refused && failure != ReplicatedFailure::overloaded;
  if (!form_.is_read && has_left && !changes_nothing(*request_)) group_->reads.on_write();
  if (failure == ReplicatedFailure::uncertain_write && route_->write_invalidation) {
    counters_->invalidations.add();
    group().make_out_of_date(form_.authority, form_.target);
  }
  on_group_failure(failure);
}

void Exchange::on_group_answer(const sketch::AnswerForm& form,
                               const std::optional<Sketch>& sketch) {
  if (form.in_blocks()) return start_agreed(form, sketch, counters_->answered_replicated);
  counters_->answered_replicated.add();
  copy_to_shadows(form, sketch);
  answer(form, sketch);
}

void Exchange::on_group_failure(ReplicatedFailure failure) {
  counters_->replicated_failures[static_cast<std::size_t>(failure)].add();
  fail(status_of(failure), to_string(failure));
}

// All that ask again share one call: one at most for each that was within the budget.
void Exchange::on_group_answer_outdated() {
  ask_judge_within_budget(true, true);
}

bool Exchange::is_forced() {
  const double share = context_.settings.fail_fast_reads;
  return share > 0 && context_.random.below(1U << 20) < share * (1U << 20);
}

void Exchange::answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                      std::string* storage) {
  finish();
  sink_.on_answer(form, sketch, storage);
}

void Exchange::fail(std::uint16_t status, std::string_view reason) {
  finish();
  counters_->failed.add();
  sink_.on_error(status, reason);
}

void Exchange::abandon() {
  if (state_ == State::idle) return;
  const bool is_counted =
      state_ == State::passing || (state_ == State::large && large_->answered == nullptr);
  if (!is_counted) counters_->abandoned.add();
  stop();
}

void Exchange::on_read_timeout() {
  if (state_ == State::fast) fast_.give_up();
  stop();
  fail(504, "read-timeout");
}

void Exchange::stop() {
  if (state_ == State::fast || state_ == State::passing) fast_.cancel();
  if (state_ == State::passing) passed_->abandon();
  if (state_ == State::judged) group_->reads.leave(*this);
  if (state_ == State::ordered) group().group().cancel_replicated(replicated_call_);
  if (state_ == State::large) large_->answer.abandon();
  replicated_call_ = 0;
  finish();
}

void Exchange::finish() {
  state_ = State::idle;
  timeout_.disarm();
  algorithm_.reset();
  evidence_.reset();
}

}  // namespace prophecy::sketcher

#include "sketcher/reads/exchange.hpp"

#include <utility>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "sketcher/answer/answer.hpp"
#include "sketcher/reads/member_fields.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using Kind = ReadAction::Kind;

namespace {

// Safe, as reads are, but nothing that the history remembers (RFC 9110, 9.3.7).
bool is_options(const http::Request& request) {
  return request.method == "OPTIONS";
}

void count_answer(RequestCounters& counters, std::uint16_t status) {
  if (status >= 200 && status < 600) counters.answers[status / 100 - 2].add();
}

// Until the owners of partitions are looked at again.
constexpr Duration kOwnerTime = std::chrono::milliseconds(50);

}  // namespace

Exchange::Exchange(WorkerContext& context, AnswerSink& sink, RequestSource source)
    : context_(context),
      sink_(sink),
      source_(source),
      machine_(*context.reads, *this),
      origins_{OriginSlot(*this), OriginSlot(*this)},
      deadline_(*this, &Exchange::on_deadline),
      hedge_(*this, &Exchange::on_hedge_time),
      untaken_(*this, &Exchange::on_untaken_time),
      owner_(*this, &Exchange::on_owner_time) {}

Exchange::~Exchange() {
  abandon();
}

void Exchange::start(http::Request& request, const ClientInfo& client, TimePoint now) {
  now_ = now;
  started_ = now;
  client_ = &client;
  request_ = &request;
  moved_since_.reset();
  is_counted_ = false;
  if (!is_admitted_) limited_.end();
  if (!client.floor.empty()) return raise_floor(client.floor);
  begin();
}

void Exchange::begin() {
  if (!std::exchange(is_admitted_, false)) {
    if (const auto refusal = admit(*request_, *client_)) return refuse(*refusal);
  } else if (form_.is_read && request_->body_size() > 0) {
    return refuse(sketch::kReadWithBody);  // it was not known when the head was there
  }
  if (is_elsewhere_) return forward();
  if (has_to_wait()) return wait_for_owner();
  sketch::RequestCanonicalizer::complete(*request_, form_);
  if (!upgrade_.empty()) return start_tunnel();
  // That of a write may have to be forwarded yet.
  if (form_.is_read && request_->body.capacity() > kKeptBytesMax)
    std::string().swap(request_->body);
  start_machine();
}

// Before its canonical form has its body: it may have to be forwarded.
bool Exchange::has_to_wait() {
  if (form_.is_read || context_.members == nullptr || !upgrade_.empty()) return false;
  const ReadGroup& reads = group().core().group;
  return !reads.basis(reads.claim(partition_)).has_value();
}

void Exchange::start_machine() {
  const RouteSettings& route = context_.settings.routes[route_];
  machine_.start({.form = &form_,
                  .method = request_->method,
                  .scheme = scheme_,
                  .is_options = is_options(*request_),
                  .mode = mode_,
                  .reads = route.reads,
                  .listed = listed_,
                  .may_hedge = route.hedge,
                  .has_invalidation = route.write_invalidation,
                  .was_moved = std::exchange(is_counted_, true),
                  .route = route_,
                  .counters = counters_,
                  .budget = context_.budgets[route_].get()},
                 group().core(), now_);
  perform();
}

void Exchange::wait_for_owner() {
  if (!moved_since_) moved_since_ = now_;
  if (now_ - *moved_since_ < context_.settings.ring->owner_wait) {
    return context_.owner_timers.arm(owner_, now_, kOwnerTime);
  }
  counters_->failed.add();
  count_answer(*counters_, 503);
  sink_.on_error(503, "owner-unavailable");
}

void Exchange::on_owner_time() {
  now_ = std::chrono::steady_clock::now();
  if (machine_.is_idle()) return begin();
  machine_.on_floor_time();
  perform();
}

std::optional<sketch::Refusal> Exchange::refuse_by_head(const http::Request& request,
                                                        const ClientInfo& client,
                                                        std::uint64_t body_bytes) {
  now_ = std::chrono::steady_clock::now();
  std::optional<sketch::Refusal> refusal;
  if (!is_admitted_) {
    limited_.end();
    refusal = admit(request, client);
  }
  if (!refusal && form_.is_read && body_bytes > 0) refusal = sketch::kReadWithBody;
  is_admitted_ = !refusal;
  client_ = &client;
  if (refusal) {
    count_refusal(*refusal);
    count_answer(*counters_, refusal->status);
    log_refusal(request.method, request.target, *refusal);
    return refusal;
  }
  if (form_.is_read || is_options(request) || !group().refuses_writes()) return std::nullopt;
  constexpr auto kFailure = ReplicatedFailure::writes_refused;
  is_admitted_ = false;
  counters_->writes.add();
  counters_->failed.add();
  counters_->replicated_failures[static_cast<std::size_t>(kFailure)].add();
  count_answer(*counters_, status_of(kFailure));
  const sketch::Refusal refused{status_of(kFailure), to_string(kFailure)};
  log_refusal(request.method, request.target, refused);
  return refused;
}

void Exchange::forward() {
  if (!std::exchange(is_counted_, true))
    (form_.is_read ? counters_->reads : counters_->writes).add();
  if (!forwarded_) {
    ForwardedRequest::Owner& owner = *this;
    forwarded_ = std::make_unique<ForwardedRequest>(*context_.members, context_.retry_timers,
                                                    context_.untaken, sink_, owner);
  }
  forwarded_->start({.request = request_,
                     .form = &form_,
                     .profile = &group().profile(),
                     .client = client_,
                     .scheme = scheme_,
                     .target = client_target(),
                     .partition = partition_},
                    now_);
}

void Exchange::on_forwarded(std::uint16_t status, std::uint64_t body_bytes) {
  counters_->forwarded.add();
  count_answer(*counters_, status);
  if (!context_.access_log.is_open()) return;
  context_.access_log.append({.client = client_->address,
                              .method = request_->method,
                              .scheme = scheme_,
                              .authority = form_.authority,
                              .target = client_target(),
                              .status = status,
                              .body_bytes = body_bytes,
                              .by = AnsweredBy::member,
                              .took = std::chrono::steady_clock::now() - started_});
}

void Exchange::on_not_forwarded(const sketch::Refusal& refusal, bool is_refused) {
  if (is_refused) {
    count_refusal(refusal);
  } else {
    counters_->failed.add();
  }
  count_answer(*counters_, refusal.status);
  log_refusal(request_->method, request_->target, refusal);
  sink_.on_error(refusal.status, refusal.reason);
}

void Exchange::on_ours() {
  is_admitted_ = false;
  now_ = std::chrono::steady_clock::now();
  begin();
}

// What a member has had the group carry out, and may not answer before no reader here is given an
// older answer (R7 of docs/ring.md). One that is not ours is asked for again, wherever it belongs.
void Exchange::raise_floor(std::string_view said) {
  const auto floor = read_floor(said);
  const sketch::RequestContext known{
      .scheme = client_->scheme(), .client_address = client_->address, .trusted_peers = nullptr};
  const bool is_understood = floor && floor->group < context_.groups.size() &&
                             !context_.request_canonicalizer.locate(*request_, known, form_);
  if (!is_understood) return sink_.on_error(400, "floor-malformed");
  ReadGroup& reads = context_.groups[floor->group]->context.core().group;
  const SigmaOrder::Placed* const write = floor->write ? &*floor->write : nullptr;
  if (!reads.make_out_of_date(form_.authority, form_.target, write))
    return sink_.on_error(421, kNotMine);
  sink_.on_error(200, kFloorRaised);
}

// Those that nobody may raise yet are looked at again soon.
void Exchange::raise_floors_elsewhere() {
  if (context_.members != nullptr) {
    FloorRaises::Owner& owner = *this;
    if (!floors_) floors_ = std::make_unique<FloorRaises>(*context_.members, owner);
    const OwedFloors& owed = machine_.owed_floors();
    for (std::size_t index = 0; index < owed.size(); ++index) {
      if (owed[index].group == nullptr) continue;
      const auto place =
          context_.table.floors(0).place_of(owed[index].authority, owed[index].target);
      std::uint32_t group = 0;
      while (&context_.groups[group]->context.core() != owed[index].group)
        ++group;
      floors_->ask(index, place.partition, {scheme_, owed[index].authority, owed[index].target},
                   {.group = group, .write = owed[index].write});
    }
  }
  context_.owner_timers.arm(owner_, now_, kOwnerTime);
}

void Exchange::on_floor_raised(std::size_t index) {
  now_ = std::chrono::steady_clock::now();
  machine_.on_floor_raised(index);
  perform();
}

void Exchange::refuse(const sketch::Refusal& refusal) {
  count_refusal(refusal);
  count_answer(*counters_, refusal.status);
  log_refusal(request_->method, request_->target, refusal);
  sink_.on_error(refusal.status, refusal.reason);
}

void Exchange::log_answer(const sketch::AnswerForm& form, AnsweredBy by) {
  if (!context_.access_log.is_open()) return;
  const bool has_key = form_.is_read && !is_unverified(mode_) &&
                       (mode_ == RouteMode::observe || listed_ != Mark::none ||
                        context_.settings.routes[route_].reads == Reads::delay_once);
  AccessEntry entry{.client = client_->address,
                    .method = request_->method,
                    .scheme = scheme_,
                    .authority = form_.authority,
                    .target = client_target(),
                    .status = form.status,
                    // Of one without an end, nobody knows.
                    .body_bytes = form.is_open_ended() ? 0 : form.body_bytes(),
                    .by = by,
                    .took = now_ - started_};
  if (has_key) {
    entry.key = &machine_.key();
    entry.sketch =
        by == AnsweredBy::unverified ? &machine_.origin_sketch() : &machine_.answer_sketch();
  }
  context_.access_log.append(entry);
}

void Exchange::log_refusal(std::string_view method, std::string_view target,
                           const sketch::Refusal& refused) {
  if (!context_.access_log.is_open()) return;
  AccessEntry entry{.client = client_->address, .method = method, .scheme = scheme_};
  entry.target = target;
  if (is_located_) {
    entry.authority = form_.authority;
    entry.target = client_target();
  }
  entry.status = refused.status;
  entry.reason = refused.reason;
  context_.access_log.append(entry);
}

void Exchange::count_refusal(const sketch::Refusal& refusal) {
  if (refusal.reason == kRedirect) return counters_->redirected.add();
  if (refusal.reason == kChallenge) return counters_->challenges.add();
  counters_->refused.add();
  context_.counters.refusals.add(refusal.reason);
}

void Exchange::start_tunnel() {
  counters_->reads.add();
  TunnelRequest tunnel;
  tunnel.wire = form_.wire;
  tunnel.upgrade = upgrade_;
  tunnel.route = route_;
  tunnel.group = group_;
  tunnel.counters = counters_;
  sink_.on_tunnel(std::move(tunnel));
}

// An action may bring about events, which add actions and come back here: the innermost round
// carries them out, in their order.
void Exchange::perform() {
  for (;;) {
    group().calls().perform();
    if (machine_.actions().empty()) return;
    carry_out(machine_.actions().take());
  }
}

void Exchange::carry_out(const ReadAction& action) {
  http::OriginExchange& origin = origins_[action.slot].exchange;
  switch (action.kind) {
    case Kind::ask_origin:
      return ask_origin(action);
    case Kind::cancel_origin:
      origins_[action.slot].end_use();
      return origin.cancel();
    case Kind::extend_origin:
      return origin.active() ? origin.extend() : void();
    case Kind::pause_origin:
      return origin.active() ? origin.pause() : void();
    case Kind::resume_origin:
      return origin.active() ? origin.resume() : void();
    case Kind::ask_group:
      return ask_group();
    case Kind::cancel_group:
      return group().group().cancel_replicated(std::exchange(call_, 0));
    case Kind::raise_floors:
      return raise_floors_elsewhere();
    case Kind::cancel_floors:
      if (floors_) floors_->cancel();
      return owner_.disarm();
    case Kind::move:
      return wait_for_owner();
    case Kind::arm_deadline:
      return context_.read_timeouts.arm(deadline_, now_);
    case Kind::disarm_deadline:
      return deadline_.disarm();
    case Kind::arm_hedge:
      return context_.hedge_timers.arm(hedge_, now_, action.delay);
    case Kind::disarm_hedge:
      return hedge_.disarm();
    case Kind::arm_untaken:
      return context_.untaken_timeouts.arm(untaken_, now_);
    case Kind::disarm_untaken:
      return untaken_.disarm();
    case Kind::deliver:
      return deliver(action);
    case Kind::refuse:
      end_stream();
      count_answer(*counters_, machine_.refusal().status);
      log_refusal(request_->method, request_->target,
                  {machine_.refusal().status, machine_.refusal().reason});
      return sink_.on_error(machine_.refusal().status, machine_.refusal().reason);
    case Kind::ask_client:
      return ask_client(action.size);
    case Kind::begin_body: {
      const std::uint32_t serial = machine_.serial();
      if (stream_) begin_stream();
      count_answer(*counters_, machine_.answer().status);
      log_answer(machine_.answer(), stream_ ? AnsweredBy::unverified : AnsweredBy::blocks);
      sink_.on_large_begin(sketch::AnswerForm(machine_.answer()),
                           std::optional<Sketch>(machine_.answer_sketch()));
      return machine_.serial() == serial ? machine_.on_begun(now_) : void();
    }
    case Kind::send_body:
      return send_body(action);
    case Kind::end_body:
      end_stream();
      return sink_.on_large_end(action.whole);
  }
  UNREACHABLE();
}

void Exchange::ask_origin(const ReadAction& action) {
  http::OriginExchange& exchange = origins_[action.slot].exchange;
  group_->uses.begin(origins_[action.slot], action.replica);
  const replica_client::FastForm asked = machine_.asked();
  if (!asked.is_streamed) {
    return group().group().fast(exchange, action.replica, machine_.wire(), asked);
  }
  stream_ = std::make_unique<Stream>(Stream{.replica = action.replica});
  replica_client::start_fast_read(group_->streams.at(action.replica), exchange, machine_.wire(),
                                  asked);
}

void Exchange::begin_stream() {
  stream_->has_begun = true;
  stream_->begun = now_;
  counters_->streams.add();
  context_.counters.streams.add();
}

void Exchange::end_stream() {
  const auto stream = std::exchange(stream_, nullptr);
  if (!stream || !stream->has_begun) return;
  context_.counters.streams.subtract();
  const auto lived = std::chrono::steady_clock::now() - stream->begun;
  context_.log.debug("stream-closed",
                     {{"route", context_.settings.routes[route_].name},
                      {"client", client_->address},
                      {"origin", to_string(group().settings().origins[stream->replica].address)},
                      {"bytes_out", stream->bytes},
                      {"milliseconds", std::chrono::duration_cast<milliseconds>(lived).count()}});
}

void Exchange::ask_group() {
  call_ = group().group().replicated({.method = request_->method,
                                      .authority = form_.authority,
                                      .target = form_.target,
                                      .wire = form_.wire,
                                      .body = form_.large_body,
                                      .kind = machine_.call_kind(),
                                      .view = machine_.call_view()},
                                     *this);
  // The group has a copy. A read is small, and an origin may be asked for it yet. A write that is
  // refused for its view goes to the partition's owner.
  if (form_.is_read || machine_.call_view() != 0) return;
  if (request_->body.capacity() > kKeptBytesMax) std::string().swap(request_->body);
  request_->large_body.reset();
  if (form_.wire.capacity() > kKeptBytesMax) std::string().swap(form_.wire);
  form_.large_body.reset();
}

void Exchange::ask_client(std::size_t block_bytes) {
  if (sink_.has_left()) return machine_.on_client({.has_left = true}, now_);
  const AnswerContext asked{.conditions = conditions_of(*request_), .date = {}, .via = {}};
  const Answer selected(machine_.answer(), machine_.answer_sketch(), asked);
  const bool may_begin = sink_.may_take_blocks(static_cast<std::uint32_t>(block_bytes));
  machine_.on_client({.may_begin = may_begin, .first = selected.first(), .size = selected.size()},
                     now_);
}

// The sink may start the next request, which uses the same machine.
void Exchange::deliver(const ReadAction& action) {
  const sketch::AnswerForm form = machine_.answer();
  const std::optional<Sketch> sketch = machine_.answer_sketch();
  const bool is_verified = action.whole;
  end_stream();
  if (is_verified && sketch && group_->shadows != nullptr) {
    group_->shadows->on_read({.request = form_,
                              .method = request_->method,
                              .key = machine_.key(),
                              .answer = form,
                              .sketch = *sketch,
                              .by_group = action.storage == nullptr},
                             context_.dice.random);
  }
  count_answer(*counters_, form.status);
  log_answer(form, action.storage == nullptr ? AnsweredBy::group
                   : is_verified             ? AnsweredBy::fast
                                             : AnsweredBy::unverified);
  sink_.on_answer(form, sketch, action.storage);
}

void Exchange::send_body(const ReadAction& action) {
  const std::uint32_t serial = machine_.serial();
  if (stream_) {
    stream_->bytes += action.size;
    counters_->stream_bytes_out.add(action.size);
  }
  const bool writable = sink_.on_large_bytes(*action.storage, action.begin, action.size);
  if (machine_.serial() == serial) machine_.on_sent(writable, now_);
}

void Exchange::OriginSlot::on_exchange_end(http::OriginExchange& /*exchange*/, ExchangeEnd end,
                                           http::Response& response) {
  end_use();
  owner.now_ = std::chrono::steady_clock::now();
  if (end == ExchangeEnd::answered) {
    owner.machine_.on_origin_answer(slot(), response, owner.now_);
  } else {
    owner.machine_.on_origin_failure(slot(), end, owner.now_);
  }
  owner.perform();
}

// As an origin that closes the connection: it is asked elsewhere, or the body is cut off.
void Exchange::OriginSlot::on_cut() {
  if (!exchange.active()) return;
  exchange.cancel();
  owner.now_ = std::chrono::steady_clock::now();
  owner.machine_.on_origin_failure(slot(), ExchangeEnd::broken, owner.now_);
  owner.perform();
}

void Exchange::OriginSlot::on_exchange_progress(http::OriginExchange& /*exchange*/,
                                                http::Response& response) {
  owner.now_ = std::chrono::steady_clock::now();
  owner.machine_.on_origin_progress(slot(), response, owner.now_);
  owner.perform();
}

void Exchange::on_shared_result(const SharedResult& result) {
  now_ = std::chrono::steady_clock::now();
  machine_.on_shared_result(result, now_);
  perform();
}

void Exchange::on_replicated_answer(ReplicatedAnswer answer) {
  call_ = 0;
  now_ = std::chrono::steady_clock::now();
  machine_.on_group_answer(answer);
  perform();
}

void Exchange::on_replicated_failure(ReplicatedFailure failure) {
  call_ = 0;
  now_ = std::chrono::steady_clock::now();
  machine_.on_group_failure(failure);
  perform();
}

void Exchange::on_deadline() {
  ReadMachine::Ends ends{};
  for (std::size_t slot = 0; slot < ends.size(); ++slot) {
    const http::OriginExchange& exchange = origins_[slot].exchange;
    if (exchange.active()) ends[slot] = exchange.end_without_time();
  }
  now_ = std::chrono::steady_clock::now();
  machine_.on_deadline(ends);
  perform();
}

void Exchange::on_hedge_time() {
  now_ = std::chrono::steady_clock::now();
  machine_.on_hedge_time(now_);
  perform();
}

void Exchange::on_untaken_time() {
  machine_.on_untaken_time();
  perform();
}

void Exchange::on_writable() {
  if (is_forwarding()) return forwarded_->on_writable();
  if (machine_.is_idle()) return;
  now_ = std::chrono::steady_clock::now();
  machine_.on_writable(now_);
  perform();
}

void Exchange::abandon() {
  is_admitted_ = false;
  limited_.end();
  if (is_forwarding()) {
    counters_->abandoned.add();
    return forwarded_->abandon();
  }
  if (machine_.is_idle()) {
    if (!owner_.armed()) return;
    owner_.disarm();
    return counters_->abandoned.add();
  }
  machine_.abandon();
  perform();
  end_stream();
}

}  // namespace prophecy::sketcher

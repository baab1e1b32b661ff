#include "sketcher/exchange.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::ReplicatedAnswer;
using replica_client::ReplicatedFailure;
using replica_client::ReplicatedKind;

namespace {
constexpr std::size_t kKeptBytesMax = 4096;

std::uint16_t status_of(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
    case ReplicatedFailure::overloaded:
      return 503;
    case ReplicatedFailure::no_agreement:
      return 502;
    case ReplicatedFailure::writes_refused:
      return 405;
  }
  UNREACHABLE();
}

}  // namespace

Exchange::Exchange(WorkerContext& context, AnswerSink& sink)
    : context_(context), sink_(sink), fast_(*this) {}

Exchange::~Exchange() {
  abandon();
}

void Exchange::start(http::Request& request, std::string_view client_address) {
  ASSERT(state_ == State::idle);
  const sketch::RequestContext known{.scheme = "http", .client_address = client_address};
  const auto refusal = context_.request_canonicalizer.canonicalize(request, known, form_);
  if (refusal) return refuse(refusal->status, refusal->reason);
  if (!is_our_host()) return refuse(421, "unknown-host");
  if (request.body.capacity() > kKeptBytesMax) std::string().swap(request.body);
  request_ = &request;
  evidence_.reset();
  if (!form_.is_read) {
    context_.counters.writes.add();
    return ask_group(ReplicatedKind::ordered);
  }
  context_.counters.reads.add();
  switch (context_.settings.mode) {
    case Mode::prophecy:
      return start_read();
    case Mode::pbft:
      return ask_group(ReplicatedKind::ordered);
    case Mode::pbft_ro:
      return ask_group(ReplicatedKind::read_only);
  }
  UNREACHABLE();
}

bool Exchange::is_our_host() const {
  const auto& hosts = context_.settings.hosts;
  return hosts.empty() || std::find(hosts.begin(), hosts.end(), form_.authority) != hosts.end();
}

void Exchange::refuse(std::uint16_t status, std::string_view reason) {
  context_.counters.refused.add();
  sink_.on_error(status, reason);
}

void Exchange::start_read() {
  key_ = context_.sketch.of(form_);
  algorithm_.emplace();
  tried_ = 0;
  if (algorithm_->on_request(context_.table.lookup(key_)) == ReadStep::ask_group) {
    return ask_group(ReplicatedKind::ordered);
  }
  ask_one(context_.random.below(context_.group.size()));
}

void Exchange::ask_one(NodeId replica) {
  state_ = State::fast;
  replica_ = replica;
  context_.group.fast(fast_, replica, form_.wire, form_.is_head);
}

void Exchange::ask_group(ReplicatedKind kind) {
  state_ = State::replicated;
  submitted_ = context_.order.submit();
  replicated_call_ = context_.group.replicated(kind, form_.wire, *this);
  // The group has a copy. It may have answered already, and another request be on its way.
  if (state_ == State::replicated) shrink();
}

void Exchange::on_exchange_end(http::OriginExchange& /*exchange*/, ExchangeEnd end,
                               http::Response& response) {
  context_.counters.origins[replica_].exchanges[static_cast<std::size_t>(end)].add();
  return end == ExchangeEnd::answered ? on_fast_answer(response) : on_fast_failure(end);
}

void Exchange::on_fast_answer(http::Response& response) {
  sketch::AnswerForm form;
  const bool usable = context_.answer_canonicalizer.canonicalize(response, form_.is_head, form) ==
                      sketch::AnswerFault::none;
  const std::optional<Sketch> sketch = usable ? sketch_of(form) : std::nullopt;
  const double share = context_.settings.fail_fast_reads;
  const bool forced = share > 0 && context_.random.below(1U << 20) < share * (1U << 20);
  const ReadStep step = algorithm_->on_fast_answer(sketch, context_.table.lookup(key_), forced);
  if (step == ReadStep::deliver_fast) {
    state_ = State::idle;
    algorithm_.reset();
    context_.counters.answered_fast.add();
    return sink_.on_answer(form, sketch);
  }
  if (algorithm_->was_forced()) {
    context_.counters.forced_transitions.add();
  } else {
    keep_as_evidence(form, sketch, response);
  }
  ask_group(ReplicatedKind::ordered);
}

void Exchange::keep_as_evidence(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch,
                                http::Response& response) {
  evidence_ = Evidence{};
  evidence_->status = form.status != 0 ? form.status : response.status;
  evidence_->head.assign(form.head.begin(), form.head.end());
  evidence_->body = std::move(response.body);
  evidence_->sketch = sketch;
}

void Exchange::on_fast_failure(ExchangeEnd end) {
  const bool unreachable = end == ExchangeEnd::not_sent || end == ExchangeEnd::stale ||
                           end == ExchangeEnd::broken || end == ExchangeEnd::overloaded;
  if (unreachable && ask_another_replica()) return;
  const ReadStep step = algorithm_->on_fast_failure();
  ASSERT(step == ReadStep::ask_group);
  ask_group(ReplicatedKind::ordered);
}

// An origin that is down costs a redraw among the others, up to f times: beyond that the group
// has more faults than it is made for, and agreement will say so.
bool Exchange::ask_another_replica() {
  tried_ |= std::uint64_t{1} << replica_;
  const auto tried = static_cast<std::uint32_t>(__builtin_popcountll(tried_));
  if (tried > context_.group.faults()) return false;
  std::uint32_t skip = context_.random.below(context_.group.size() - tried);
  for (NodeId replica = 0;; ++replica) {
    if ((tried_ >> replica & 1) != 0) continue;
    if (skip-- > 0) continue;
    ask_one(replica);
    return true;
  }
}

void Exchange::on_replicated_answer(ReplicatedAnswer answer) {
  ASSERT(state_ == State::replicated);
  state_ = State::idle;
  replicated_call_ = 0;
  // A read-only call without enough equal votes was ordered after all.
  const bool ordered = answer.sigma != 0;
  (ordered ? context_.counters.answered_replicated : context_.counters.answered_read_only).add();
  SigmaOrder::Placed placed;
  if (ordered) placed = context_.order.place(submitted_, answer.sigma);
  if (placed.restarted) context_.counters.group_restarts.add();
  std::optional<Sketch> sketch;
  if (algorithm_) {
    sketch = sketch_of(answer.form);
    settle(answer, sketch, placed);
    algorithm_.reset();
  }
  sink_.on_answer(answer.form, sketch);
}

// Brings the table up to date before the client can see the answer.
void Exchange::settle(const ReplicatedAnswer& answer, const std::optional<Sketch>& sketch,
                      const SigmaOrder::Placed& placed) {
  const Verdict verdict = algorithm_->on_replicated_answer(sketch);
  const Sketch& update = placed.doubtful ? kNoSketch : verdict.update;
  // Numbers of a group without an order stay as they are: it never begins anew.
  const UpdateOutcome outcome =
      answer.asked ? context_.table.update_unordered(key_, update, *answer.asked, placed.sigma)
                   : context_.table.update(key_, update, placed.sigma);
  switch (outcome) {
    case UpdateOutcome::inserted:
      context_.counters.table_inserts.add();
      break;
    case UpdateOutcome::replaced:
      context_.counters.table_replaces.add();
      break;
    case UpdateOutcome::unordered:
      context_.counters.table_unordered.add();
      break;
    default:  // newer already, or marked by an operator
      break;
  }
  if (!sketch) context_.counters.unsketchable.add();
  if (verdict.transition) context_.counters.transitions.add();
  if (verdict.divergence) report_divergence(answer, sketch);
  evidence_.reset();
}

void Exchange::report_divergence(const ReplicatedAnswer& answer,
                                 const std::optional<Sketch>& sketch) {
  ASSERT(evidence_.has_value());
  const sketch::AnswerForm refuted{
      .status = evidence_->status, .head = evidence_->head, .body = evidence_->body};
  Divergence divergence;
  divergence.kind = DivergenceKind::fast_read;
  divergence.replica = replica_;
  const std::string origin = to_string(context_.settings.origins[replica_].address);
  divergence.origin = origin;
  divergence.method = request_->method;
  divergence.target = request_->target;
  divergence.authority = form_.authority;
  divergence.sigma = answer.sigma;
  divergence.differences = sketch::compare(refuted, answer.form);
  divergence.answer_digest = evidence_->sketch ? to_hex(*evidence_->sketch) : "";
  divergence.agreed_digest = sketch ? to_hex(*sketch) : "";
  divergence.answer_status = refuted.status;
  divergence.agreed_status = answer.form.status;
  divergence.answer_body_bytes = refuted.body.size();
  divergence.agreed_body_bytes = answer.form.body.size();
  context_.divergences.report(divergence);
}

void Exchange::on_replicated_failure(ReplicatedFailure failure) {
  state_ = State::idle;
  replicated_call_ = 0;
  algorithm_.reset();
  evidence_.reset();
  context_.counters.replicated_failures[static_cast<std::size_t>(failure)].add();
  context_.counters.failed.add();
  sink_.on_error(status_of(failure), to_string(failure));
}

void Exchange::abandon() {
  if (state_ == State::idle) return;
  context_.counters.abandoned.add();
  if (state_ == State::fast) fast_.cancel();
  if (state_ == State::replicated) context_.group.cancel_replicated(replicated_call_);
  state_ = State::idle;
  replicated_call_ = 0;
  algorithm_.reset();
  evidence_.reset();
}

std::optional<Sketch> Exchange::sketch_of(const sketch::AnswerForm& form) const {
  if (!sketch::may_be_sketched(form, context_.profile)) return std::nullopt;
  return context_.sketch.of(form);
}

void Exchange::shrink() {
  if (form_.wire.capacity() > kKeptBytesMax) std::string().swap(form_.wire);
  if (form_.key.capacity() > kKeptBytesMax) Bytes().swap(form_.key);
}

}  // namespace prophecy::sketcher

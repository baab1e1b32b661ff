#include "sketcher/fast_read.hpp"

#include <bit>

#include "sketcher/hedge_timers.hpp"

namespace prophecy::sketcher {

using http::ExchangeEnd;

namespace {

TimePoint now() {
  return std::chrono::steady_clock::now();
}

}  // namespace

FastRead::FastRead(WorkerContext& context, FastReadHandler& handler)
    : context_(context), handler_(handler), first_(*this), second_(*this) {}

void FastRead::start(WorkerGroup& group, RequestCounters& counters, const sketch::RequestForm& form,
                     Failing failing, bool hedged, const replica_client::FastForm& asked) {
  group_ = &group;
  counters_ = &counters;
  form_ = &form;
  failing_ = failing;
  hedged_ = hedged;
  asked_ = asked;
  in_pieces_ = false;
  tried_ = 0;
  // Before it is asked, which may end it.
  if (hedged) arm_hedge();
  const auto replica = group.context.draw(context_.random, tried_);
  ASSERT(replica.has_value());
  ask(first_, *replica);
}

void FastRead::arm_hedge() {
  const auto delay = group_->hedges.on_read();
  if (delay) context_.hedge_timers.arm(*this, now(), *delay);
}

void FastRead::cancel() {
  disarm();
  first_.exchange.cancel();
  second_.exchange.cancel();
}

void FastRead::give_up() {
  for (const Ask* ask : {&first_, &second_}) {
    if (ask->exchange.active()) count(ask->replica, ask->exchange.end_without_time());
  }
  cancel();
}

void FastRead::ask(Ask& ask, NodeId replica) {
  ask.replica = replica;
  if (hedged_) ask.since = now();
  tried_ |= replica_client::bit_of(replica);
  group_->context.group().fast(ask.exchange, replica, form_->wire, asked_);
}

void FastRead::on_timeout() {
  const auto replica = group_->context.draw_healthy(context_.random, tried_);
  if (!replica || !group_->hedges.take()) return;
  counters_->hedged.add();
  ask(second_, *replica);
}

void FastRead::on_exchange_end(http::OriginExchange& exchange, ExchangeEnd end,
                               http::Response& response) {
  Ask& ended = &exchange == &first_.exchange ? first_ : second_;
  Ask& other = &exchange == &first_.exchange ? second_ : first_;
  const bool is_whole = end == ExchangeEnd::answered && !in_pieces_;
  if (is_whole) {
    decide(ended, other);
  } else {
    count(ended.replica, end);
  }
  if (other.exchange.active()) return;  // it may answer yet
  disarm();
  const bool over = in_pieces_ || end == ExchangeEnd::answered || !is_replaced(end);
  if (over || !ask_another()) handler_.on_fast_read_end(ended.replica, end, response);
}

void FastRead::on_exchange_progress(http::OriginExchange& exchange, http::Response& response) {
  if (!std::exchange(in_pieces_, true)) {
    const bool is_first = &exchange == &first_.exchange;
    decide(is_first ? first_ : second_, is_first ? second_ : first_);
  }
  handler_.on_fast_read_progress(exchange, response);
}

void FastRead::reject(http::OriginExchange& exchange, http::Response& response) {
  exchange.cancel();
  in_pieces_ = false;
  on_exchange_end(exchange, ExchangeEnd::malformed, response);
}

void FastRead::decide(Ask& winner, Ask& other) {
  disarm();
  if (hedged_) {
    const TimePoint time = now();
    group_->hedges.on_latency(winner.replica, time - winner.since);
    if (other.exchange.active()) group_->hedges.on_latency(other.replica, time - other.since);
    if (&winner == &second_) counters_->hedges_won.add();
  }
  if (other.exchange.active()) {
    other.exchange.cancel();
    // It was only slower, and is asked again should the winner's answer be refused.
    tried_ &= ~replica_client::bit_of(other.replica);
  }
}

// Too large is no fault of its own: the others' are so as well.
bool FastRead::is_replaced(ExchangeEnd end) const {
  if (failing_ == Failing::to_another) return end != ExchangeEnd::too_large;
  return http::is_unsent(end) || end == ExchangeEnd::stale || end == ExchangeEnd::broken;
}

bool FastRead::ask_another() {
  const auto tried = static_cast<std::uint32_t>(std::popcount(tried_));
  if (tried > group_->context.group().faults()) return false;
  const auto replica = group_->context.draw(context_.random, tried_);
  if (!replica) return false;
  ask(first_, *replica);
  return true;
}

void FastRead::count_answer(NodeId replica, bool usable) {
  count(replica, usable ? ExchangeEnd::answered : ExchangeEnd::malformed);
}

void FastRead::count(NodeId replica, ExchangeEnd end) {
  group_->context.counters(replica).exchanges[static_cast<std::size_t>(end)].add();
}

}  // namespace prophecy::sketcher

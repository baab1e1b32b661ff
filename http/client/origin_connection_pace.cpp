// The part of OriginConnection that shares a connection between exchanges, at the origin's pace.
#include <algorithm>

#include "http/client/origin_connection.hpp"

namespace prophecy::http {

void OriginConnection::carry(OriginExchange& exchange, TimePoint now) {
  Carried carried(exchange);
  OriginPace& pace = *pool_.pace_;
  carried.since = now;
  carried.since_awake = pace.awake(now);
  if (carried.pipelined) {
    carried.path_class = exchange.path_class_;
    carried.expected = pace.expected(carried.path_class, now);
  }
  carried_.push(carried);
  if (carried_.size() > 1 && carried_.depth_max(pace, now) == OriginPace::kTriedDepth)
    pace.on_tried();
  exchange.connection_ = this;
}

void OriginConnection::note_first(TimePoint now) {
  const OriginPace& pace = *pool_.pace_;
  const Carried& first = carried_.front();
  first_since_ = pace.awake(now);
  late_after_ = pace.late_after(first.place, now);
  is_late_ = false;
}

bool OriginConnection::may_share(PathClass of, std::size_t depth_max, TimePoint now) const {
  const OriginPace& pace = *pool_.pace_;
  return state_ == State::busy && !carried_.empty() && carried_.back().pipelined &&
         carried_.front().is_wanted() && !is_outdated() &&
         answered_ + carried_.size() < pace.answers_max() &&
         pace.waited(first_since_, now) < late_after_ &&
         carried_.may_take(of, std::min(pool_.settings_.pipeline_max, depth_max), pace, now);
}

void OriginConnection::look_at_waiting(TimePoint now) {
  if (!is_watched()) return;
  OriginPace& pace = *pool_.pace_;
  const PathClass first = carried_.front().path_class;
  if (is_late_) {
    pace.on_still_late(now);
  } else if (pace.waited(first_since_, now) > late_after_) {
    is_late_ = true;
    pace.on_late(first, carried_.wanted_behind(), now);
  }
  std::size_t delayed = 0;
  // A handler may close this connection, and cancel or start exchanges.
  while (state_ == State::busy) {
    const auto found = carried_.find_overdue(now);
    if (found == carried_.end()) break;
    OriginExchange& exchange = *found->exchange;
    exchange.connection_ = nullptr;
    if (pace.waited(found->since_awake, now) > OriginPace::kWaitMax) ++delayed;
    // The first one is wanted, or this is its end.
    if (carried_.leave(found, is_in_record()) == Leaving::ends) close_and_put_back(false);
    pool_.end(exchange, ExchangeEnd::delayed, pool_.no_response_);
  }
  if (delayed > 0 && !is_late_) pace.on_waited(first, delayed, now);
}

void OriginConnection::note_answered(const Carried& answered) {
  ++answered_;
  if (pool_.settings_.pipeline_max == 1) return;
  OriginPace& pace = *pool_.pace_;
  const bool is_kept = reader_->response.keep_alive;
  if (is_kept) pace.on_kept(answered_);
  if (!answered.pipelined && is_kept) return;
  const TimePoint now = std::chrono::steady_clock::now();
  const std::size_t behind = carried_.wanted_behind() + (carried_.front().is_wanted() ? 1 : 0);
  if (!is_kept) pace.on_closed(answered_, behind, now);
  if (!answered.pipelined) return;
  const Duration took = pace.waited(first_since_, now);
  if (took > late_after_ && !is_late_) pace.on_late(answered.path_class, behind, now);
  pace.on_answer(answered.path_class, answered.place, took, reader_->response.body.size(), now);
}

}  // namespace prophecy::http

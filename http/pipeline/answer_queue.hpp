// `AnswerQueue` says which request each answer on one connection belongs to, for an
// OriginConnection: answers come in the order of the requests (RFC 9112, section 9.3.2).
//
// A request whose owner has left keeps its place if it was sent, and its answer is skipped. Bytes
// that no request was sent for, and a request that was sent in part and is not wanted any more, end
// the connection: whatever came on it from then on could be taken for another request's answer. An
// origin can still move answers to the wrong requests. So only verified reads share a connection.
//
// `Ask` derives from QueuedAsk and says of itself:
//
//   bool is_wanted() const   somebody waits for its answer
//   bool has_left() const    some of it was sent
//   bool is_sent() const     all of it was
//   void forget()            nobody waits for it any more
//
// Deterministic; single-threaded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "http/pipeline/mutation.hpp"
#include "http/pipeline/origin_pace.hpp"

namespace prophecy::http {

struct QueuedAsk {
  PathClass path_class = 0;
  OriginPace::Expected expected{};
  TimePoint since{};        // on this connection
  TimePoint since_awake{};  // likewise, by OriginPace::awake()
  OriginPace::Place place = OriginPace::Place::alone;
};

// The effect on a connection of a request's owner that leaves.
enum class Leaving : std::uint8_t {
  goes_on,  // the others get their answers
  ends,     // the connection is to be closed
};

template <class Ask>
class AnswerQueue {
 public:
  using iterator = typename std::vector<Ask>::iterator;

  [[nodiscard]] bool empty() const { return asks_.empty(); }
  [[nodiscard]] std::size_t size() const { return asks_.size(); }
  [[nodiscard]] Ask& front() { return asks_.front(); }
  [[nodiscard]] const Ask& front() const { return asks_.front(); }
  [[nodiscard]] Ask& back() { return asks_.back(); }
  [[nodiscard]] const Ask& back() const { return asks_.back(); }
  [[nodiscard]] iterator begin() { return asks_.begin(); }
  [[nodiscard]] iterator end() { return asks_.end(); }
  [[nodiscard]] auto begin() const { return asks_.begin(); }
  [[nodiscard]] auto end() const { return asks_.end(); }
  // The cost of all answers that are to come.
  [[nodiscard]] const OriginPace::Expected& expected() const { return expected_; }

  // Behind the others. REQUIRES: it was not sent yet.
  void push(Ask ask) {
    ask.place = asks_.empty() ? OriginPace::Place::alone : OriginPace::Place::behind;
    expected_.time += ask.expected.time;
    expected_.bytes += ask.expected.bytes;
    asks_.push_back(std::move(ask));
  }
  // Bytes that begin an answer belong to the front. False: nothing was asked.
  [[nodiscard]] bool may_begin() const { return !asks_.empty() && asks_.front().has_left(); }
  // Bytes behind the answer to the front belong to the next. False: nothing was asked.
  [[nodiscard]] bool may_go_on() const { return asks_.size() > 1 && asks_[1].has_left(); }
  // The front is answered, or has failed.
  Ask pop() {
    ASSERT(!asks_.empty());
    return take(asks_.begin());
  }
  // From the back, when the connection is closed.
  Ask pop_back() {
    ASSERT(!asks_.empty());
    return take(std::prev(asks_.end()));
  }
  // `is_in_record`: some of it may have left although none of it counts as sent.
  [[nodiscard]] Leaving leave(iterator ask, bool is_in_record = false) {
    const bool is_cut_short = (ask->has_left() || is_in_record) && !ask->is_sent();
    ask->forget();
    if (is_cut_short || !is_wanted()) return Leaving::ends;
    if (!ask->has_left() || is_late_for_next()) static_cast<void>(take(ask));
    return Leaving::goes_on;
  }
  // Requests that may be on the connection, by the classes of those that are.
  [[nodiscard]] std::size_t depth_max(const OriginPace& pace, TimePoint now) const {
    std::size_t depth = SIZE_MAX;
    for (const Ask& ask : asks_)
      depth = std::min(depth, pace.depth_max(ask.path_class, now));
    return depth;
  }
  // A read of this class may go behind the others, by the pace of the origin. `of_class` is the
  // depth_max() of that class. REQUIRES: not empty.
  [[nodiscard]] bool may_take(PathClass of, std::size_t of_class, const OriginPace& pace,
                              TimePoint now) const {
    return size() < of_class && expected_.time <= OriginPace::kFrontTimeMax &&
           expected_.bytes <= OriginPace::kFrontBytesMax && size() < depth_max(pace, now) &&
           (is_behind_any() || pace.may_follow(of, front().path_class, front().place, now));
  }
  // The first behind the front that is wanted, and has waited for too long.
  // (Whether the origin or we have slept: its client waits.)
  [[nodiscard]] iterator find_overdue(TimePoint now) {
    if (asks_.empty()) return asks_.end();
    return std::find_if(asks_.begin() + 1, asks_.end(), [&](const Ask& ask) {
      return ask.is_wanted() && now - ask.since > OriginPace::kWaitMax;
    });
  }
  // Somebody waits for an answer.
  [[nodiscard]] bool is_wanted() const { return std::any_of(asks_.begin(), asks_.end(), wants); }
  [[nodiscard]] std::size_t wanted_behind() const {
    if (asks_.empty()) return 0;
    return static_cast<std::size_t>(std::count_if(asks_.begin() + 1, asks_.end(), wants));
  }

 private:
  static bool wants(const Ask& ask) { return ask.is_wanted(); }

  Ask take(iterator at) {
    Ask ask = std::move(*at);
    asks_.erase(at);
    expected_.time -= ask.expected.time;
    expected_.bytes -= ask.expected.bytes;
    return ask;
  }

  std::vector<Ask> asks_;  // in the order of their answers; those not sent yet last
  OriginPace::Expected expected_;
};

}  // namespace prophecy::http

#include "consistency/origins/origin_links.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "consistency/origins/origin_stream.hpp"

namespace prophecy::consistency {
namespace {

using http::ExchangeEnd;
using http::Leaving;
using http::OriginPace;

constexpr std::size_t kPipelineDepthMax = 4;
// An answer takes some dozens of steps here, each of a millisecond: too long for the real limits.
constexpr std::int64_t kTimeScale = 8;
constexpr std::uint64_t kSentAtOncePercent = 70;
constexpr std::uint64_t kTrickPercent = 25;
constexpr std::uint64_t kStuckDelayPercent =
    10;  // of those behind, and step: it has taken too long
constexpr std::uint64_t kStuckEndPercent = 20;

TimePoint scaled(TimePoint now) {
  return TimePoint{} + now.time_since_epoch() / kTimeScale;
}

}  // namespace

OriginLinks::OriginLinks(Origins& origins, const RunSettings& settings, simulation::Random& random,
                         Attribution& attribution, Tally& tally)
    : origins_(origins),
      settings_(settings),
      random_(random),
      attribution_(attribution),
      tally_(tally),
      paces_(settings.has_pipelining ? settings.origins : 0, OriginPace({1, 2})) {}

bool OriginLinks::may_share(const Link& link, http::PathClass of, TimePoint now) const {
  const http::AnswerQueue<Ask>& queue = link.queue;
  if (queue.empty() || queue.size() >= kPipelineDepthMax || !queue.front().is_wanted())
    return false;
  if (settings_.shares_always) return true;
  const OriginPace& pace = paces_[link.origin];
  return link.answered + queue.size() < pace.answers_max() &&
         queue.may_take(of, pace.depth_max(of, now), pace, now);
}

void OriginLinks::note_first(Link& link, TimePoint now) const {
  link.first_since = now;
  link.is_late = false;
  if (link.queue.empty()) return;
  const Ask& first = link.queue.front();
  link.late_after = paces_[link.origin].late_after(first.place, now);
}

void OriginLinks::join(OriginStream& stream, std::size_t origin, const std::string& wire,
                       TimePoint now) {
  now = scaled(now);
  OriginPace& pace = paces_[origin];
  Ask ask;
  ask.path_class = pace.class_of(wire);
  ask.expected = pace.expected(ask.path_class, now);
  ask.since = now;
  ask.stream = &stream;
  ask.number = ++asks_;
  ask.wire = wire;
  auto link = std::find_if(links_.begin(), links_.end(), [&](const Link& one) {
    return one.origin == origin && may_share(one, ask.path_class, now);
  });
  if (link != links_.end()) {
    tally_.add(Met::shared_connections);
  } else {
    link = std::find_if(links_.begin(), links_.end(), [&](const Link& one) {
      return one.origin == origin && one.queue.empty() && one.received.empty() && !one.is_stuck;
    });
    if (link == links_.end()) {
      links_.emplace_back();
      link = std::prev(links_.end());
      link->origin = origin;
    }
  }
  link->queue.push(std::move(ask));
  if (link->queue.size() == 1) note_first(*link, now);
  const bool is_tried = link->queue.depth_max(pace, now) == OriginPace::kTriedDepth;
  if (link->queue.size() > 1 && is_tried) pace.on_tried();
  if (random_.chance(kSentAtOncePercent)) send(*link);
}

void OriginLinks::send(Link& link) {
  for (Ask& ask : link.queue) {
    if (!std::exchange(ask.sent, true)) link.received.push_back({ask.number, ask.wire});
  }
}

OriginLinks::LinkPlace OriginLinks::find(const OriginStream& stream) {
  const auto found = std::find_if(links_.begin(), links_.end(), [&](const Link& link) {
    return std::any_of(link.queue.begin(), link.queue.end(),
                       [&](const Ask& ask) { return ask.stream == &stream; });
  });
  ASSERT(found != links_.end());
  return found;
}

void OriginLinks::leave(OriginStream& stream) {
  const auto link = find(stream);
  const auto ask = std::find_if(link->queue.begin(), link->queue.end(),
                                [&](const Ask& one) { return one.stream == &stream; });
  if (ask->sent) tally_.add(Met::answers_skipped);
  if (link->queue.leave(ask) == Leaving::ends) close(link, std::nullopt, {});
}

void OriginLinks::close(LinkPlace link, std::optional<ExchangeEnd> front, TimePoint now) {
  http::AnswerQueue<Ask>& queue = link->queue;
  if (front && !queue.empty()) {
    const Ask failed = queue.pop();
    if (failed.is_wanted()) failed.stream->end_failed(*front);
    paces_[link->origin].on_closed(link->answered, queue.size(), now);
  }
  while (!queue.empty()) {
    const Ask ask = queue.pop_back();
    if (!ask.is_wanted()) continue;
    tally_.add(Met::asked_after_close);
    ask.stream->put_back();
  }
  links_.erase(link);
}

void OriginLinks::delay_overdue(LinkPlace link, TimePoint now) {
  http::AnswerQueue<Ask>& queue = link->queue;
  OriginPace& pace = paces_[link->origin];
  if (queue.empty()) return;
  if (!link->is_late && now - link->first_since > link->late_after) {
    link->is_late = true;
    pace.on_late(queue.front().path_class, queue.wanted_behind(), now);
  }
  auto overdue = queue.find_overdue(now);
  const bool gives_up = link->is_stuck && random_.chance(kStuckDelayPercent);
  if (overdue == queue.end() && gives_up) {
    overdue = std::find_if(queue.begin() + 1, queue.end(),
                           [](const Ask& ask) { return ask.is_wanted(); });
  }
  if (overdue == queue.end()) return;
  tally_.add(Met::delayed);
  OriginStream& stream = *overdue->stream;
  const Leaving leaving = queue.leave(overdue);
  stream.end_failed(ExchangeEnd::delayed);
  if (leaving == Leaving::ends) close(link, std::nullopt, now);
}

void OriginLinks::advance(OriginStream& stream, std::uint64_t failing_percent, TimePoint now) {
  now = scaled(now);
  auto link = find(stream);
  send(*link);
  if (failing_percent > 0 && random_.chance(failing_percent)) {
    const bool is_reset = random_.chance(50);
    return close(link, is_reset ? ExchangeEnd::broken : ExchangeEnd::stale, now);
  }
  if (!link->is_stuck && !answer(link, now)) return;
  if (link->is_stuck && !link->queue.empty() && random_.chance(kStuckEndPercent)) {
    // The front has no more time. The answers behind its own are still awaited.
    Ask& front = link->queue.front();
    if (front.is_wanted()) {
      OriginStream& slow = *front.stream;
      const Leaving leaving = link->queue.leave(link->queue.begin());
      slow.end_failed(ExchangeEnd::timed_out);
      if (leaving == Leaving::ends) return close(link, std::nullopt, now);
    }
  }
  delay_overdue(link, now);
}

void OriginLinks::play_tricks(Link& link) {
  std::deque<Received>& received = link.received;
  switch (random_.below(4)) {
    case 0:  // out of turn
      if (received.size() > 1) std::swap(received[0], received[1]);
      return;
    case 1:  // twice
      return received.push_front(received.front());
    case 2:  // not at all
      return received.pop_front();
    default:
      link.is_stuck = true;
      return;
  }
}

bool OriginLinks::answer(LinkPlace link, TimePoint now) {
  const bool is_liar = settings_.is_liar(link->origin);
  if (is_liar && !link->received.empty() && random_.chance(kTrickPercent)) play_tricks(*link);
  if (link->is_stuck || link->received.empty()) {
    link->is_stuck = true;  // it waits for answers that do not come
    return true;
  }
  const Received received = std::move(link->received.front());
  link->received.pop_front();
  const PageRequest request = parse_page_request(received.wire);
  const auto made = origins_.answer(link->origin, request);
  if (!made || made->manner == Manner::stuck || made->manner == Manner::dripping) {
    link->is_stuck = true;
    return true;
  }
  if (made->manner != Manner::whole) {
    const bool is_cut = made->manner == Manner::cut;
    close(link, is_cut ? ExchangeEnd::broken : ExchangeEnd::too_large, now);
    return false;
  }
  // (A read that is advanced is on the link: somebody waits on it.)
  if (!link->queue.may_begin()) {
    close(link, ExchangeEnd::malformed, now);
    return false;
  }
  const Ask ask = link->queue.pop();
  ++link->answered;
  OriginPace& pace = paces_[link->origin];
  if (!is_liar) attribution_.check_paired(ask.number == received.number);
  pace.on_answer(ask.path_class, ask.place, now - link->first_since, made->text.size(), now);
  note_first(*link, now);
  // An answer to nothing, right behind.
  const bool has_more = is_liar && link->received.size() > link->queue.size() && random_.chance(50);
  if (has_more && !link->queue.may_begin()) {
    if (ask.is_wanted()) ask.stream->end_failed(ExchangeEnd::malformed);
    close(link, std::nullopt, now);
    return false;
  }
  if (ask.is_wanted()) {
    http::Response response = made->head(request);
    response.body = made->body(request);
    ask.stream->end_answered(std::move(response));
  }
  const bool is_unwanted = !link->queue.empty() && !link->queue.is_wanted();
  // Bytes on a connection that carries nothing end it.
  const bool is_surplus = link->queue.empty() && !link->received.empty();
  if (!is_unwanted && !(is_surplus && random_.chance(50))) return !link->queue.empty();
  close(link, std::nullopt, now);
  return false;
}

}  // namespace prophecy::consistency

#include "consistency/origins/mixed_pages.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::consistency {
namespace {

using http::OriginPace;

constexpr int kReads = 1500;
constexpr std::size_t kDepthMax = 16;
// As a pool has it.
constexpr std::size_t kBusyBeforeSharing = 2;
constexpr std::uint64_t kQuickPercent = 80;  // of the reads
constexpr std::uint64_t kTogetherMax = 8;
constexpr std::uint64_t kGapUsMax = 6000;
constexpr std::size_t kAnswerBytes = 1000;
// A page whose reads would wait for kFrontTimeMax behind a slower one, and no longer.
constexpr Duration kQuickMax = milliseconds(6);
// An answer takes so much more or less than its page does on average.
constexpr std::int64_t kNoisePermille = 50;

}  // namespace

MixedPages::MixedPages(std::uint64_t seed, Cost& cost, Tally& tally)
    : random_(seed, simulation::kPurposePages),
      cost_(cost),
      tally_(tally),
      links_max_(static_cast<std::size_t>(random_.between(3, 24))) {
  // Quick ones come first.
  add_page(between(100, 2000), between(50, 1000));
  add_page(between(100, 6000), between(50, 6000));
  const auto slow = static_cast<int>(random_.between(1, 4));
  for (int i = 0; i < slow; ++i) {
    switch (random_.below(3)) {
      case 0: {  // always
        const Duration takes = between(40'000, 150'000);
        add_page(takes, takes);
        break;
      }
      case 1: {  // and yet it is tried
        const Duration takes = between(12'000, 29'000);
        add_page(takes, takes);
        break;
      }
      default:  // alone
        add_page(between(25'000, 29'000), between(50, 2000));
        break;
    }
  }
}

Duration MixedPages::between(std::uint64_t from_us, std::uint64_t to_us) {
  return microseconds(static_cast<std::int64_t>(random_.between(from_us, to_us)));
}

// In a class of its own: nobody could tell it from a page in the same one.
void MixedPages::add_page(Duration alone, Duration behind) {
  const auto has_class = [this](http::PathClass of) {
    return std::any_of(pages_.begin(), pages_.end(),
                       [of](const Page& page) { return page.path_class == of; });
  };
  http::PathClass path_class = 0;
  for (std::uint64_t name = random_.below(1'000'000); has_class(path_class) || path_class == 0;
       ++name)
    path_class = pace_.class_of("GET /" + std::to_string(name) + " HTTP/1.1\r\n");
  pages_.push_back({path_class, alone, behind});
}

void MixedPages::run() {
  constexpr std::size_t kQuickPages = 2;
  int reads = 0;
  TimePoint arrival = now_;
  TimePoint look = now_;
  for (;;) {
    const auto next = std::min_element(
        links_.begin(), links_.end(),
        [](const Link& one, const Link& other) { return one.answered_at < other.answered_at; });
    const bool is_busy = next != links_.end() && !next->queue.empty();
    if (reads == kReads && !is_busy) break;
    const TimePoint answered = is_busy ? next->answered_at : TimePoint::max();
    now_ = std::min({answered, look, reads < kReads ? arrival : TimePoint::max()});
    if (now_ == answered) {
      answer_first(*next);
    } else if (now_ == look) {
      look_at_waiting();
      look = now_ + OriginPace::kTick;
    } else {
      const std::uint64_t together = random_.chance(50) ? 1 : random_.between(1, kTogetherMax);
      for (std::uint64_t i = 0; i < together && reads < kReads; ++i, ++reads) {
        const std::size_t page =
            random_.chance(kQuickPercent)
                ? static_cast<std::size_t>(random_.below(kQuickPages))
                : kQuickPages +
                      static_cast<std::size_t>(random_.below(pages_.size() - kQuickPages));
        waiting_.push_back(&pages_[page]);
      }
      arrival = now_ + between(1, kGapUsMax);
    }
    while (!waiting_.empty() && place(*waiting_.front()))
      waiting_.pop_front();
  }
  ASSERT(waiting_.empty());
}

bool MixedPages::may_share(const Link& link, http::PathClass of) const {
  return !link.queue.empty() && link.queue.front().is_wanted() &&
         link.queue.may_take(of, std::min(kDepthMax, pace_.depth_max(of, now_)), pace_, now_) &&
         now_ - link.first_since < link.late_after;
}

bool MixedPages::place(const Page& page) {
  const auto busy = static_cast<std::size_t>(std::count_if(
      links_.begin(), links_.end(), [](const Link& link) { return !link.queue.empty(); }));
  if (busy >= kBusyBeforeSharing || busy == links_max_) {
    Link* best = nullptr;
    for (Link& link : links_) {
      if (!may_share(link, page.path_class)) continue;
      if (best == nullptr || link.queue.size() < best->queue.size()) best = &link;
    }
    if (best != nullptr) {
      join(*best, page);
      return true;
    }
  }
  if (busy == links_max_) return false;
  const auto idle = std::find_if(links_.begin(), links_.end(),
                                 [](const Link& link) { return link.queue.empty(); });
  join(idle != links_.end() ? *idle : links_.emplace_back(), page);
  return true;
}

void MixedPages::join(Link& link, const Page& page) {
  Ask ask;
  ask.path_class = page.path_class;
  ask.expected = pace_.expected(page.path_class, now_);
  ask.since = now_;
  ask.page = &page;
  ask.is_known = pace_.depth_max(page.path_class, now_) > OriginPace::kTriedDepth;
  link.queue.push(ask);
  if (link.queue.size() == 1) return begin_first(link);
  if (link.queue.depth_max(pace_, now_) == OriginPace::kTriedDepth) pace_.on_tried();
}

void MixedPages::begin_first(Link& link) {
  if (link.queue.empty()) {
    link.answered_at = TimePoint::max();
    return;
  }
  const Ask& first = link.queue.front();
  if (first.place == OriginPace::Place::behind) check_wait(first);
  const bool is_alone = first.place == OriginPace::Place::alone;
  const Duration usual = is_alone ? first.page->alone : first.page->behind;
  const auto noise = static_cast<std::int64_t>(random_.below(2 * kNoisePermille + 1));
  link.first_since = now_;
  link.answered_at = now_ + usual * (1000 - kNoisePermille + noise) / 1000;
  link.late_after = pace_.late_after(first.place, now_);
  link.is_late = false;
}

void MixedPages::answer_first(Link& link) {
  const Ask first = link.queue.pop();
  const Duration took = now_ - link.first_since;
  if (took > link.late_after && !link.is_late) {
    const std::size_t behind = link.queue.wanted_behind() +
                               (!link.queue.empty() && link.queue.front().is_wanted() ? 1 : 0);
    pace_.on_late(first.path_class, behind, now_);
  }
  pace_.on_answer(first.path_class, first.place, took, kAnswerBytes, now_);
  begin_first(link);
}

void MixedPages::look_at_waiting() {
  for (auto link = links_.begin(); link != links_.end(); ++link) {
    http::AnswerQueue<Ask>& queue = link->queue;
    if (queue.empty()) continue;
    if (link->is_late) {
      pace_.on_still_late(now_);
    } else if (now_ - link->first_since > link->late_after) {
      link->is_late = true;
      pace_.on_late(queue.front().path_class, queue.wanted_behind(), now_);
    }
    std::size_t delayed = 0;
    for (auto ask = queue.find_overdue(now_); ask != queue.end(); ask = queue.find_overdue(now_)) {
      check_wait(*ask);
      ++delayed;
      // (The front is wanted: its answer is still awaited.)
      ASSERT(queue.leave(ask) == http::Leaving::goes_on);
    }
    if (delayed > 0 && !link->is_late) pace_.on_waited(queue.front().path_class, delayed, now_);
  }
}

void MixedPages::check_wait(const Ask& ask) {
  if (!ask.is_wanted() || !ask.is_known || ask.page->alone > kQuickMax) return;
  tally_.add(Met::held_up);
  const auto waited = std::chrono::ceil<milliseconds>(now_ - ask.since).count();
  cost_.check("held-up-ms", static_cast<std::size_t>(waited));
}

}  // namespace prophecy::consistency

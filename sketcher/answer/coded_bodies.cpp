#include "sketcher/answer/coded_bodies.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sketcher/answer/content_encoder.hpp"

namespace prophecy::sketcher {
namespace {

constexpr Duration kTimeSavedMax = std::chrono::milliseconds(100);

// A coding has to save a tenth.
std::size_t worthwhile_bytes(std::size_t body_bytes) {
  return body_bytes - body_bytes / 10;
}

}  // namespace

std::size_t CodedBodies::Hash::operator()(const Key& key) const {
  std::size_t hash = 0;
  static_assert(sizeof hash <= sizeof key.sketch);
  std::memcpy(&hash, key.sketch.data(), sizeof hash);
  return hash ^ static_cast<std::size_t>(key.coding);
}

CodedBodies::Body CodedBodies::find_or_make(const sketch::Sketch& sketch,
                                            http::ContentCoding coding, std::string_view body) {
  const Key key{sketch, coding};
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    if (found->second->body) counters_.delivered.add();
    return found->second->body;
  }
  const TimePoint begin = std::chrono::steady_clock::now();
  if (!has_time(begin)) {
    counters_.over_budget.add();
    return nullptr;
  }
  auto coded = encode(coding, body, worthwhile_bytes(body.size()));
  time_left_ -= std::chrono::steady_clock::now() - begin;
  Body made = coded ? std::make_shared<const std::string>(std::move(*coded)) : nullptr;
  made ? counters_.encoded.add() : counters_.not_smaller.add();
  if (made) counters_.delivered.add();
  remember({key, made});
  return made;
}

bool CodedBodies::has_time(TimePoint now) {
  if (time_since_ != TimePoint{}) {
    const auto earned =
        std::chrono::duration_cast<Duration>((now - time_since_) * processor_share_);
    time_left_ = std::min<Duration>(kTimeSavedMax, time_left_ + earned);
  }
  time_since_ = now;
  return time_left_ > Duration::zero();
}

void CodedBodies::remember(Entry entry) {
  const std::size_t bytes = entry.bytes();
  if (bytes > bytes_max_) return;
  while (held_bytes_ + bytes > bytes_max_) {
    held_bytes_ -= entries_.back().bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
  entries_.push_front(std::move(entry));
  by_key_.emplace(entries_.front().key, entries_.begin());
  held_bytes_ += bytes;
  counters_.held_bytes.set(held_bytes_);
}

}  // namespace prophecy::sketcher

#include "sketcher/core/policy/activity_view.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace prophecy::sketcher {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;

// Nothing: it is empty, or changes.
std::optional<RequestActivity> read(const ActivityRecord& record) {
  const std::uint64_t version = record.version.load(kAcquire);
  if (version == 0 || version % 2 != 0) return std::nullopt;
  std::array<std::uint64_t, 3> identity{};
  for (std::size_t i = 0; i < identity.size(); ++i)
    identity[i] = record.identity[i].load(kAcquire);
  std::array<char, ActivityRecord::kUrlBytesMax> url{};
  for (std::size_t i = 0; i < record.url.size(); ++i) {
    const std::uint64_t word = record.url[i].load(kAcquire);
    std::memcpy(url.data() + i * sizeof word, &word, sizeof word);
  }
  RequestActivity activity;
  std::memcpy(activity.key.data(), identity.data(), activity.key.size());
  const std::uint64_t rest = identity[2] >> 32;
  activity.route = rest & 0xFFFF;
  activity.url.assign(url.data(), std::min<std::size_t>(rest >> 16 & 0xFF, url.size()));
  activity.is_head = (rest >> 24 & ActivityRecord::kIsHead) != 0;
  activity.is_cut = (rest >> 24 & ActivityRecord::kIsCut) != 0;
  activity.hits = record.hits.load(kAcquire);
  activity.group_reads = record.group_reads.load(kAcquire);
  activity.transitions = record.transitions.load(kAcquire);
  activity.first_seconds = record.first_seconds.load(kAcquire);
  activity.last_seconds = record.last_seconds.load(kAcquire);
  activity.volatility = Volatility::unpack(record.volatility.load(kAcquire));
  if (record.version.load(kAcquire) != version) return std::nullopt;
  return activity;
}

}  // namespace

std::optional<RequestActivity> ActivityView::find(const Sketch& key) const {
  const std::size_t first = parts_.set_of(key) * ActivitySet::kWays;
  for (std::size_t i = 0; i < ActivitySet::kWays; ++i) {
    auto activity = read(parts_.records[first + i]);
    if (activity && activity->key == key) return activity;
  }
  return std::nullopt;
}

void ActivityView::for_each_with_transitions(
    const std::function<void(RequestActivity)>& visit) const {
  for (std::size_t i = 0; i < parts_.record_count(); ++i) {
    if (parts_.records[i].transitions.load(kAcquire) == 0) continue;
    if (auto activity = read(parts_.records[i])) visit(std::move(*activity));
  }
}

}  // namespace prophecy::sketcher

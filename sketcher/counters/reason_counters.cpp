#include "sketcher/counters/reason_counters.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

// By the only writer.
void increment(std::atomic<std::uint64_t>& count) {
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

void ReasonCounters::add(std::string_view reason) {
  reason = reason.substr(0, kReasonBytesMax);
  if (reason.empty()) return increment(other_);
  for (Slot& slot : slots_) {
    const std::size_t size = slot.size.load(std::memory_order_relaxed);
    if (size == 0) {
      std::copy(reason.begin(), reason.end(), slot.text.begin());
      slot.size.store(static_cast<std::uint8_t>(reason.size()), std::memory_order_release);
      return increment(slot.count);
    }
    if (reason == std::string_view(slot.text.data(), size)) return increment(slot.count);
  }
  increment(other_);
}

void ReasonCounters::add_to(std::map<std::string, std::uint64_t>& totals) const {
  for (const Slot& slot : slots_) {
    const std::size_t size = slot.size.load(std::memory_order_acquire);
    if (size == 0) break;
    totals[std::string(slot.text.data(), size)] += slot.count.load(std::memory_order_relaxed);
  }
  const std::uint64_t other = other_.load(std::memory_order_relaxed);
  if (other > 0) totals["other"] += other;
}

}  // namespace prophecy::sketcher

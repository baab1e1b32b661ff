// Places for connections, when they become scarce: idle clients give theirs up to new ones. Without
// that, as many clients as there are places would keep all others out, at the price of a request
// each now and then.
//
// Deterministic: time comes in. Single-threaded; each worker has its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <vector>

#include "base/timeout_queue.hpp"

namespace prophecy::sketcher {

class Places {
 public:
  // Up to so many of the places, nobody has to go. There is one at least.
  [[nodiscard]] static constexpr std::size_t free_use(std::size_t places_max) {
    return std::max<std::size_t>(1, places_max - (places_max + 7) / 8);
  }
  // The next look when too few could go: all that waits may have to be looked at for it.
  static constexpr Duration kRetry = milliseconds(100);

  explicit Places(std::size_t places_max)
      : free_use_(free_use(places_max)), spare_(places_max / 64) {}

  // How many connections have to go, of so many that are open. Some more than are too many: the
  // next few clients need not look again.
  [[nodiscard]] std::size_t wanted(std::size_t open, TimePoint now) const {
    if (open <= free_use_ || now < next_look_) return 0;
    return open - free_use_ + spare_;
  }
  // So many of the wanted ones have gone.
  void on_look(std::size_t wanted, std::size_t gone, TimePoint now) {
    if (gone < wanted) next_look_ = now + kRetry;
  }

 private:
  std::size_t free_use_;
  std::size_t spare_;
  TimePoint next_look_{};
};

// Ends so many of those that wait in `queues` and are idle, the longest idle first. Yields how many
// there were. No end may destroy an entry, its own or another.
inline std::size_t end_idle(std::initializer_list<TimeoutQueue*> queues, TimePoint now,
                            std::size_t wanted) {
  struct Candidate {
    TimeoutEntry* entry;
    TimePoint armed;
  };
  std::vector<Candidate> candidates;
  for (const TimeoutQueue* queue : queues) {
    const std::size_t before = candidates.size();
    queue->for_each_while([&](TimeoutEntry& entry, TimePoint armed) {
      if (entry.is_idle(now - armed)) candidates.push_back({&entry, armed});
      return candidates.size() - before < wanted;  // no more of this queue can be among them
    });
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.armed < b.armed; });
  std::size_t gone = 0;
  for (const Candidate& candidate : candidates) {
    if (gone == wanted) break;
    // The end of another may have been its own.
    if (!candidate.entry->armed()) continue;
    candidate.entry->give_place();
    ++gone;
  }
  return gone;
}

}  // namespace prophecy::sketcher

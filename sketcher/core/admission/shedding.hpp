// Whose time is over at once when what is held for slow clients is too much: first those that have
// made no progress for kStalled, of these first those for whom most is held; then the others, those
// first whose progress is longest ago. Whoever holds nothing is left alone.
//
// All are looked at once for a call, so whoever calls frees more than the last byte.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "base/timeout_queue.hpp"

namespace prophecy::sketcher {

constexpr Duration kStalled = seconds(1);

// Of all that wait in `queues`, where each is armed anew as it makes progress, until `enough()`.
// Yields how many it were. None of them may destroy another.
template <class Enough>
std::size_t shed(std::initializer_list<TimeoutQueue*> queues, TimePoint now, Enough enough) {
  struct Candidate {
    TimeoutEntry* entry;
    std::size_t held_bytes;
    TimePoint armed;
  };
  std::vector<Candidate> candidates;
  for (const TimeoutQueue* queue : queues) {
    queue->for_each([&candidates](TimeoutEntry& entry, TimePoint armed) {
      if (const std::size_t held = entry.held_bytes(); held > 0) {
        candidates.push_back({&entry, held, armed});
      }
    });
  }
  std::sort(candidates.begin(), candidates.end(),
            [stalled_since = now - kStalled](const Candidate& a, const Candidate& b) {
              const bool a_is_stalled = a.armed <= stalled_since;
              const bool b_is_stalled = b.armed <= stalled_since;
              if (a_is_stalled != b_is_stalled) return a_is_stalled;
              return a_is_stalled ? a.held_bytes > b.held_bytes : a.armed < b.armed;
            });
  std::size_t shed = 0;
  for (const Candidate& candidate : candidates) {
    if (enough()) break;
    // The end of another may have been its own.
    if (!candidate.entry->armed()) continue;
    candidate.entry->give_way();
    ++shed;
  }
  return shed;
}

}  // namespace prophecy::sketcher

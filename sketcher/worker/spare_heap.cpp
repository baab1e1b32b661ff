#include "sketcher/worker/spare_heap.hpp"

#include <algorithm>

namespace prophecy::sketcher {

bool SpareHeap::should_give_back(std::size_t live_sessions) {
  room_for_ = std::max(room_for_, live_sessions);
  most_in_use_ = std::max(most_in_use_, live_sessions);
  if (++looks_ < kLooks) return false;
  looks_ = 0;
  const std::size_t in_use = most_in_use_;
  most_in_use_ = 0;
  if (room_for_ - in_use < kWorthSessions) return false;
  room_for_ = in_use;
  return true;
}

}  // namespace prophecy::sketcher

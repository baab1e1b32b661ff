// `SpareHeap` tells when the heap should give freed memory back to the system. glibc keeps what
// lies below memory that is still in use: sessions that were all live in one second leave
// megabytes, of which each idle connection holds a little down.
//
// To ask glibc how much is free takes longer the more is free, and a session lives for at least a
// second. So sessions are counted instead. Those that end soon have successors: what no look in a
// row of several has seen in use is spare, and given back if it is worth a walk over the heap.
//
// Deterministic; one thread.
#pragma once

#include <cstddef>

namespace prophecy::sketcher {

class SpareHeap {
 public:
  static constexpr int kLooks = 5;
  // Some 3 KiB each.
  static constexpr std::size_t kWorthSessions = 1000;

  // Once a second. True: the heap should give back what is free.
  [[nodiscard]] bool should_give_back(std::size_t live_sessions);

 private:
  std::size_t room_for_ = 0;     // sessions that the heap has grown to
  std::size_t most_in_use_ = 0;  // in this row of looks
  int looks_ = 0;
};

}  // namespace prophecy::sketcher

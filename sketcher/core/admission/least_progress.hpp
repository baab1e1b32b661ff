// Whether a client has moved enough bytes for its time to begin anew. One that sends or takes a
// byte now and then would otherwise hold a connection, and what belongs to it, for as long as it
// likes.
#pragma once

#include <cstddef>

namespace prophecy::sketcher {

class LeastProgress {
 public:
  static constexpr std::size_t kBytes = 4 << 10;

  void restart() { moved_bytes_ = 0; }
  // True when these bytes complete another kBytes.
  [[nodiscard]] bool moved(std::size_t bytes) {
    moved_bytes_ += bytes;
    if (moved_bytes_ < kBytes) return false;
    moved_bytes_ = 0;
    return true;
  }

 private:
  std::size_t moved_bytes_ = 0;
};

}  // namespace prophecy::sketcher

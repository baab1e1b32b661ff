// Whether a client takes what the kernel holds for it while its socket takes nothing more. A socket
// with 4 MiB to send says that it has room again when a third of them has gone: to one that reads
// 100 KB a second that is longer than its time, though it reads all along.
#pragma once

#include <cstddef>

#include "sketcher/core/admission/least_progress.hpp"

namespace prophecy::sketcher {

class QueueProgress {
 public:
  // What the kernel holds as the wait begins, and after each time that it has taken more.
  void begin(std::size_t queued_bytes) { queued_bytes_ = queued_bytes; }
  // What it holds when the time is over. True: enough has gone since the last look for the time to
  // begin anew.
  [[nodiscard]] bool went_on(std::size_t queued_bytes) {
    const bool enough = queued_bytes + LeastProgress::kBytes <= queued_bytes_;
    queued_bytes_ = queued_bytes;
    return enough;
  }

 private:
  std::size_t queued_bytes_ = 0;
};

}  // namespace prophecy::sketcher

// The rest of a connection whose sending we have ended. To close it while something has arrived
// that nobody reads, or while the peer may still say something, resets it, and takes back what of
// ours is on its way. So what arrives is discarded, and the peer has its time as long as it takes
// what the kernel holds for it.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <array>
#include <cstddef>

#include "sketcher/core/queue_progress.hpp"
#include "transport/ready_socket.hpp"

namespace prophecy::sketcher {

class Linger {
 public:
  void begin(const transport::ReadySocket& socket) { queue_.begin(socket.queued_bytes()); }

  // What has arrived; inside TLS it is not even deciphered. False: the peer has ended, or says too
  // much.
  [[nodiscard]] bool discard(transport::ReadySocket& socket) {
    std::array<char, kReadBytes> input;
    for (;;) {
      const transport::IoResult result = socket.receive(input.data(), input.size());
      if (result.status == transport::IoStatus::blocked) return true;
      discarded_ += result.size;
      if (result.status != transport::IoStatus::done || discarded_ > kBytesMax) return false;
    }
  }

  // When its time is over: it begins anew.
  [[nodiscard]] bool goes_on(const transport::ReadySocket& socket) {
    return queue_.went_on(socket.queued_bytes());
  }

 private:
  static constexpr std::size_t kReadBytes = 16 << 10;
  static constexpr std::size_t kBytesMax = 1 << 20;

  std::size_t discarded_ = 0;
  QueueProgress queue_;
};

}  // namespace prophecy::sketcher

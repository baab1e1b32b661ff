// The rest of a connection whose sending we have ended. To close it while something has arrived
// that nobody reads, or while the peer may still say something, resets it, and takes back what of
// ours is on its way. So what arrives is discarded, and the peer has its time as long as it takes
// what the kernel holds for it, and for a while as long as it says something: many clients look at
// no answer before they have sent all of a request.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sketcher/core/admission/least_progress.hpp"
#include "sketcher/core/admission/queue_progress.hpp"
#include "transport/ready_socket.hpp"

namespace prophecy::sketcher {

class Linger {
 public:
  void begin(const transport::ReadySocket& socket) { queue_.begin(socket.queued_bytes()); }

  enum class Heard : std::uint8_t {
    all,   // that has arrived
    some,  // and to be asked again, when others have had their turn
    end,
  };

  // Inside TLS it is not even deciphered.
  [[nodiscard]] Heard discard(transport::ReadySocket& socket) {
    std::array<char, kReadBytes> input;
    for (int reads = 0; reads < kReadsMax; ++reads) {
      const transport::IoResult result = socket.receive(input.data(), input.size());
      if (result.status == transport::IoStatus::blocked) return Heard::all;
      if (result.status != transport::IoStatus::done) return Heard::end;
      heard_bytes_ += result.size;
    }
    return Heard::some;
  }

  // When its time is over. True: it begins anew.
  [[nodiscard]] bool goes_on(const transport::ReadySocket& socket) {
    const bool takes = queue_.went_on(socket.queued_bytes());
    const bool says = std::exchange(heard_bytes_, 0) >= LeastProgress::kBytes;
    return takes || (says && ++times_listened_ < kTimesListenedMax);
  }

 private:
  static constexpr std::size_t kReadBytes = 16 << 10;
  static constexpr int kReadsMax = 16;
  static constexpr int kTimesListenedMax = 30;

  std::size_t heard_bytes_ = 0;  // since its time began
  int times_listened_ = 0;
  QueueProgress queue_;
};

}  // namespace prophecy::sketcher

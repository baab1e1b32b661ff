// A connected, non-blocking socket that knows whether asking it is worth a system call: what it has
// told once about being empty or full holds until the kernel says otherwise.
//
// Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sys/uio.h>

#include "base/unique_fd.hpp"

namespace prophecy::transport {

enum class IoStatus : std::uint8_t {
  done,     // some bytes, at least one
  blocked,  // nothing for now; readiness will be told
  ended,    // the peer has ended its sending, in order
  failed,   // reset, or a peer that breaks the rules of the stream
};

struct IoResult {
  IoStatus status = IoStatus::blocked;
  std::size_t size = 0;
};

class ReadySocket {
 public:
  explicit ReadySocket(UniqueFd fd) : fd_(std::move(fd)) {}

  // epoll's events.
  void note(std::uint32_t events);
  [[nodiscard]] bool readable() const { return readable_; }
  [[nodiscard]] bool writable() const { return writable_; }
  // Reset, or ended in both directions.
  [[nodiscard]] bool broken() const { return broken_; }
  // The peer has ended its sending, in whatever way.
  [[nodiscard]] bool hangs_up() const { return hangs_up_; }

  [[nodiscard]] IoResult receive(char* into, std::size_t size);
  // All pieces with one call.
  [[nodiscard]] IoResult send(std::span<const iovec> pieces);
  [[nodiscard]] IoResult send(std::string_view first, std::string_view second);
  // Of all that was sent: what the peer's system has not acknowledged.
  [[nodiscard]] std::size_t queued_bytes() const;
  void shutdown_send();
  void close() { fd_.reset(); }
  // Closes with a reset, which leaves no TIME_WAIT behind: the local port is free at once. What was
  // written and has not arrived may be lost.
  void abort();

  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  bool readable_ = false;
  bool writable_ = true;
  bool hangs_up_ = false;  // an end or an error lies behind what can be read
  bool broken_ = false;
};

}  // namespace prophecy::transport

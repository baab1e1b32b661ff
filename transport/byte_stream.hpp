// What a session speaks through: a client's connection as two streams of bytes, plain or inside
// TLS. Non-blocking; nothing is read ahead, unless TlsChannel::read_ahead() was called, and nothing
// that was to be written is kept, so that a quiet stream holds no buffer.
//
// Single-threaded.
#pragma once

#include <memory>
#include <string_view>

#include "transport/ready_socket.hpp"
#include "transport/tls_channel.hpp"

namespace prophecy::transport {

class ByteStream {
 public:
  // Beyond so many reads in one turn of the loop, others have theirs.
  static constexpr int kReadsInTurn = 16;

  explicit ByteStream(UniqueFd fd) : socket_(std::move(fd)) {}
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  // All that follows is inside TLS, from the handshake on.
  void secure(std::unique_ptr<TlsChannel> channel) { tls_ = std::move(channel); }
  [[nodiscard]] TlsChannel* tls() { return tls_.get(); }
  [[nodiscard]] const TlsChannel* tls() const { return tls_.get(); }

  void note(std::uint32_t events) { socket_.note(events); }
  [[nodiscard]] bool broken() const { return socket_.broken(); }
  [[nodiscard]] bool hangs_up() const { return socket_.hangs_up(); }
  // False: read() would find nothing.
  [[nodiscard]] bool may_have_input() const { return tls_ != nullptr || socket_.readable(); }
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  [[nodiscard]] ReadySocket& socket() { return socket_; }

  [[nodiscard]] IoResult read(char* into, std::size_t size) {
    return tls_ ? tls_->read(into, size) : socket_.receive(into, size);
  }
  // As much of both pieces, one behind the other, as is taken now. What was offered and not taken
  // has to be offered again in the same order; it may lie elsewhere then, and in other pieces.
  [[nodiscard]] IoResult write(std::string_view first, std::string_view second = {}) {
    return tls_ ? tls_->write(first, second) : socket_.send(first, second);
  }
  // Written, and still with the kernel.
  [[nodiscard]] std::size_t queued_bytes() const { return socket_.queued_bytes(); }
  // The peer learns that nothing more follows.
  void end() {
    if (tls_) tls_->end();
    socket_.shutdown_send();
  }
  // Likewise, but inside TLS no sooner than the peer takes its word for it: false, not yet.
  [[nodiscard]] bool try_to_end() {
    if (tls_ && !tls_->end()) return false;
    socket_.shutdown_send();
    return true;
  }
  // Likewise, but inside TLS the peer can see that more was to follow.
  void cut_off() {
    if (tls_) tls_->give_up();
    socket_.shutdown_send();
  }
  void close() { socket_.close(); }
  void abort() { socket_.abort(); }

 private:
  ReadySocket socket_;
  std::unique_ptr<TlsChannel> tls_;
};

}  // namespace prophecy::transport

// TLS on an origin connection's socket, which stays the connection's: it waits, and tells before
// each call that there may be something to read or room to write.
#pragma once

#include <memory>
#include <string_view>

#include "transport/tls_client.hpp"

namespace prophecy::http {

class OriginTls {
 public:
  // Null when there is no memory.
  [[nodiscard]] static std::unique_ptr<OriginTls> make(transport::TlsClient& client, int socket);
  ~OriginTls() { socket_.release(); }
  OriginTls(const OriginTls&) = delete;
  OriginTls& operator=(const OriginTls&) = delete;

  [[nodiscard]] transport::IoStatus handshake();
  // What a blocked handshake waits for.
  [[nodiscard]] bool waits_to_write() const { return !socket_.writable(); }

  [[nodiscard]] transport::IoResult read(char* into, std::size_t size) {
    return channel_->read(into, size);
  }
  // What was offered and not taken has to be offered again.
  [[nodiscard]] transport::IoResult write(std::string_view bytes);
  // The socket may have something to read.
  void on_readable();

 private:
  explicit OriginTls(int socket) : socket_(UniqueFd(socket)) {}

  transport::ReadySocket socket_;
  std::unique_ptr<transport::TlsChannel> channel_;
};

}  // namespace prophecy::http

// Takes the PROXY header off a connection that was just accepted, and not one byte behind it, which
// may be the first of a TLS handshake: it looks at what has arrived before it takes it. Called
// whenever the socket is readable, until it says something else than `waiting`; the caller has the
// time-out, and has seen to it that the peer may say whose connection this is.
//
// Single-threaded.
#pragma once

#include "http/proxy_header.hpp"

namespace prophecy::sketcher {

class ProxyIntake {
 public:
  enum class State : std::uint8_t {
    waiting,
    done,    // what follows the header is still to be read; it may have arrived already
    failed,  // no header, or an end in front of its own
  };

  // Requires a socket that does not block.
  [[nodiscard]] State receive(int socket);

  // After `done`. Nothing: the connection is the peer's own.
  [[nodiscard]] const std::optional<http::ProxiedConnection>& connection() const {
    return parser_.connection();
  }
  // After `failed`: static text.
  [[nodiscard]] std::string_view failure() const;

 private:
  http::ProxyHeaderParser parser_;
};

}  // namespace prophecy::sketcher

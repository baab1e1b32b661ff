// The PROXY protocol (HAProxy's proxy-protocol.txt, versions 1 and 2): what a load balancer sends
// in front of a connection's first byte to say whose connection it passes on. Only streams over
// IPv4 and IPv6 have addresses for us. "LOCAL", "UNKNOWN", an unspecified family and Unix sockets
// mean that the connection's own two ends are the ones that count.
//
// The parser takes the header and not one byte more. Extensions of version 2 (TLVs) are skipped
// unread; the whole header has at most kProxyHeaderBytesMax bytes. It has no notion of whom to
// trust: whoever feeds it has looked at the peer's address first.
//
// Not thread-safe; no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ip_address.hpp"
#include "http/parser.hpp"

namespace prophecy::http {

constexpr std::size_t kProxyHeaderBytesMax = 4096;

struct ProxiedConnection {
  IpAddress source;  // the client
  IpAddress destination;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;

  bool operator==(const ProxiedConnection&) const = default;
};

class ProxyHeaderParser {
 public:
  // Answers need_more, complete (once; `consumed` ends at the header's end) or failed. The outcome
  // does not depend on how the input was cut into pieces.
  [[nodiscard]] ParseProgress feed(std::string_view input);

  // After complete. Nothing: the connection's own ends count.
  [[nodiscard]] const std::optional<ProxiedConnection>& connection() const { return connection_; }
  // After failed: static text.
  [[nodiscard]] std::string_view failure() const { return failure_; }

 private:
  enum class State : std::uint8_t { start, line, fixed, addresses, skipping, complete, failed };

  [[nodiscard]] State on_byte(char c);
  [[nodiscard]] State on_line();
  [[nodiscard]] State on_fixed_part();
  [[nodiscard]] State on_addresses();
  [[nodiscard]] State fail(std::string_view why);

  State state_ = State::start;
  std::array<char, 107> held_{};  // the longest line of version 1; more than version 2 has to hold
  std::size_t held_size_ = 0;
  std::size_t addresses_end_ = 0;  // of version 2, in held_
  std::size_t skip_ = 0;           // bytes of version 2 behind what is held
  std::optional<ProxiedConnection> connection_;
  std::string_view failure_;
};

// Both addresses of one connection have to be of one family to be written as IPv4.
void append_proxy_header_v1(std::string& out, const ProxiedConnection& connection);
void append_proxy_header_v2(std::string& out, const ProxiedConnection& connection);

}  // namespace prophecy::http

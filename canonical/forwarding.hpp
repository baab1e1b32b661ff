// How origins are told where a request comes from: by the X-Forwarded-* fields, or by Forwarded
// (RFC 7239). Each field names, from left to right, every hop that the one behind it reported, and
// at its end the peer that we see ourselves.
//
// What a peer says of those before it counts only if the peer is trusted; then its chain is kept
// and extended, and the client is the rightmost hop that is not trusted itself. What stands left of
// that is hearsay. From anybody else the chain is replaced. Only the field of the configured style
// is believed: whoever manages one of them may well pass the other on as a client made it up.
//
// Nothing here allocates, but that the text which is appended to grows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/address_range.hpp"
#include "base/ip_address.hpp"
#include "http/message.hpp"

namespace prophecy::sketch {

enum class ForwardingStyle : std::uint8_t { x_forwarded, forwarded };

// Constant for all requests of a route (but for the chain, which is the visible exception).
struct Forwarding {
  ForwardingStyle style = ForwardingStyle::x_forwarded;
  std::string via = "1.1 prophecy";  // Via's value: what we speak, and our pseudonym, a token
  // The client's address in reads that a group answers for all clients. By default one that
  // documentation has for itself (RFC 5737), so that no network has it.
  IpAddress group_client = IpAddress(std::array<std::uint8_t, 4>{192, 0, 2, 1});

  [[nodiscard]] std::string_view pseudonym() const { return std::string_view(via).substr(4); }
};

// The hops before the peer, as its request tells them.
class ForwardedChain {
 public:
  // Requires fields that a parser let through. `trusted` are the ranges that hold the peer; null:
  // it is not trusted. A chain that is malformed in a way which would make our own addition part of
  // it counts as none.
  ForwardedChain(const http::FieldList& fields, ForwardingStyle style,
                 const AddressRanges* trusted);

  // Nothing: the client is the peer.
  [[nodiscard]] const std::optional<IpAddress>& client() const { return client_; }
  // Appends what has been kept, as "a, b, " or nothing.
  void append_to(std::string& out) const;

 private:
  const http::FieldList& fields_;
  std::string_view name_;
  bool kept_ = false;
  std::optional<IpAddress> client_;
};

// A part of a text, from its first byte to behind its last.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Appends the fields for one request. `authority` in its one form. Yields where `out` holds what
// differs from client to client; all the rest repeats scheme and authority.
TextRange append_forwarding(std::string& out, const ForwardedChain& chain,
                            const Forwarding& forwarding, std::string_view peer_address,
                            std::string_view scheme, std::string_view authority);

// Appends what stands in that range when `address`, numeric, is all that is known of the client.
void append_client(std::string& out, ForwardingStyle style, std::string_view address);

// Whether a Via field's value names us: the request has been here before.
[[nodiscard]] bool names_in_via(std::string_view value, std::string_view pseudonym);

}  // namespace prophecy::sketch

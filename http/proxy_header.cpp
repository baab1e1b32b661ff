#include "http/proxy_header.hpp"

#include <algorithm>
#include <charconv>

#include "base/assert.hpp"
#include "base/bytes.hpp"

namespace prophecy::http {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSignature = "\r\n\r\n\0\r\nQUIT\n"sv;  // version 2
constexpr std::string_view kLineBegin = "PROXY ";                  // version 1
constexpr std::size_t kFixedSize = 16;                             // of version 2
constexpr std::size_t kV4AddressesSize = 12;
constexpr std::size_t kV6AddressesSize = 36;
constexpr std::size_t kUnixAddressesSize = 216;

constexpr std::uint8_t kVersion2 = 0x20;
constexpr std::uint8_t kCommandLocal = 0x0;
constexpr std::uint8_t kCommandProxy = 0x1;
constexpr std::uint8_t kUnspecified = 0x00;
constexpr std::uint8_t kTcpOverV4 = 0x11;
constexpr std::uint8_t kTcpOverV6 = 0x21;
constexpr std::uint8_t kUnixStream = 0x31;

// Decimal, without leading zeros.
std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, port);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  if (text.front() == '0' && text.size() > 1) return std::nullopt;
  return port;
}

// The next word; words are separated by one space each.
std::string_view take_word(std::string_view& rest) {
  const std::size_t size = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(std::min(size + 1, rest.size()));
  return word;
}

std::optional<IpAddress> parse_address(std::string_view text, bool v6) {
  if ((text.find(':') != std::string_view::npos) != v6) return std::nullopt;
  return IpAddress::parse(text);
}

std::uint16_t read_u16(std::string_view bytes) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(bytes[0]) << 8 |
                                    static_cast<std::uint8_t>(bytes[1]));
}

void append_u16(std::string& out, std::size_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}

void append_address(std::string& out, const IpAddress& address, bool as_v4) {
  out += as_text(address.bytes()).substr(as_v4 ? 12 : 0);
}

// IPv4 within a line of IPv6 addresses is written as mapped.
void append_address_text(std::string& out, const IpAddress& address, bool as_v4) {
  if (address.is_v4() && !as_v4) out += "::ffff:";
  address.append_to(out);
}

bool is_over_v4(const ProxiedConnection& connection) {
  return connection.source.is_v4() && connection.destination.is_v4();
}

}  // namespace

ParseProgress ProxyHeaderParser::feed(std::string_view input) {
  ASSERT(state_ != State::complete);
  std::size_t consumed = 0;
  while (consumed < input.size() && state_ != State::complete && state_ != State::failed) {
    if (state_ == State::skipping) {
      const std::size_t size = std::min(skip_, input.size() - consumed);
      consumed += size;
      skip_ -= size;
      if (skip_ == 0) state_ = State::complete;
    } else {
      state_ = on_byte(input[consumed++]);
    }
  }
  if (state_ == State::complete) return {ParseState::complete, consumed};
  return {state_ == State::failed ? ParseState::failed : ParseState::need_more, consumed};
}

ProxyHeaderParser::State ProxyHeaderParser::on_byte(char c) {
  ASSERT(held_size_ < held_.size());
  held_[held_size_++] = c;
  switch (state_) {
    case State::start: {
      const bool v2 = held_[0] == kSignature[0];
      const std::string_view expected = v2 ? kSignature : kLineBegin;
      if (c != expected[held_size_ - 1]) return fail("no PROXY header");
      if (held_size_ < expected.size()) return State::start;
      return v2 ? State::fixed : State::line;
    }
    case State::line:
      if (c == '\n') return on_line();
      return held_size_ < held_.size() ? State::line : fail("PROXY line too long");
    case State::fixed:
      return held_size_ < kFixedSize ? State::fixed : on_fixed_part();
    case State::addresses:
      return held_size_ < addresses_end_ ? State::addresses : on_addresses();
    case State::skipping:
    case State::complete:
    case State::failed:
      break;
  }
  UNREACHABLE();
}

ProxyHeaderParser::State ProxyHeaderParser::on_line() {
  std::string_view rest(held_.data(), held_size_ - 1);
  if (!rest.ends_with('\r')) return fail("PROXY line with a bare LF");
  rest.remove_suffix(1);
  if (rest.find('\r') != std::string_view::npos) return fail("PROXY line with a bare CR");
  rest.remove_prefix(kLineBegin.size());
  const std::string_view family = take_word(rest);
  if (family == "UNKNOWN") return State::complete;  // whatever stands behind it
  if (family != "TCP4" && family != "TCP6") return fail("PROXY line of an unknown family");
  const auto source = parse_address(take_word(rest), family == "TCP6");
  const auto destination = parse_address(take_word(rest), family == "TCP6");
  const auto source_port = parse_port(take_word(rest));
  // What is left is one word, or it is no port.
  const auto destination_port = parse_port(rest);
  if (!source || !destination || !source_port || !destination_port) {
    return fail("PROXY line with an invalid address or port");
  }
  connection_ = {*source, *destination, *source_port, *destination_port};
  return State::complete;
}

ProxyHeaderParser::State ProxyHeaderParser::on_fixed_part() {
  const std::string_view held(held_.data(), held_size_);
  const auto version_command = static_cast<std::uint8_t>(held[12]);
  const auto family = static_cast<std::uint8_t>(held[13]);
  const std::size_t size = read_u16(held.substr(14));
  if ((version_command & 0xf0) != kVersion2) return fail("PROXY header of an unknown version");
  const std::uint8_t command = version_command & 0x0f;
  if (command != kCommandLocal && command != kCommandProxy) {
    return fail("PROXY header with an unknown command");
  }
  if (kFixedSize + size > kProxyHeaderBytesMax) return fail("PROXY header too long");

  std::size_t addresses_size = 0;
  std::size_t held_part = 0;
  if (command == kCommandProxy) {
    switch (family) {
      case kUnspecified:
        break;
      case kTcpOverV4:
        addresses_size = held_part = kV4AddressesSize;
        break;
      case kTcpOverV6:
        addresses_size = held_part = kV6AddressesSize;
        break;
      case kUnixStream:
        addresses_size = kUnixAddressesSize;
        break;
      default:
        return fail("PROXY header of an unknown family");
    }
  }
  if (size < addresses_size) return fail("PROXY header shorter than its addresses");
  addresses_end_ = kFixedSize + held_part;
  skip_ = size - held_part;
  if (held_part > 0) return State::addresses;
  return skip_ > 0 ? State::skipping : State::complete;
}

ProxyHeaderParser::State ProxyHeaderParser::on_addresses() {
  const std::string_view held(held_.data(), held_size_);
  const std::string_view rest = held.substr(kFixedSize);
  const auto bytes = as_bytes(rest);
  ProxiedConnection connection;
  if (rest.size() == kV4AddressesSize) {
    connection.source = IpAddress(bytes.first<4>());
    connection.destination = IpAddress(bytes.subspan<4, 4>());
  } else {
    connection.source = IpAddress(bytes.first<16>());
    connection.destination = IpAddress(bytes.subspan<16, 16>());
  }
  connection.source_port = read_u16(rest.substr(rest.size() - 4));
  connection.destination_port = read_u16(rest.substr(rest.size() - 2));
  connection_ = connection;
  return skip_ > 0 ? State::skipping : State::complete;
}

ProxyHeaderParser::State ProxyHeaderParser::fail(std::string_view why) {
  failure_ = why;
  return State::failed;
}

void append_proxy_header_v1(std::string& out, const ProxiedConnection& connection) {
  const bool v4 = is_over_v4(connection);
  out += kLineBegin;
  out += v4 ? "TCP4 " : "TCP6 ";
  append_address_text(out, connection.source, v4);
  out += ' ';
  append_address_text(out, connection.destination, v4);
  out += ' ';
  out += std::to_string(connection.source_port);
  out += ' ';
  out += std::to_string(connection.destination_port);
  out += "\r\n";
}

void append_proxy_header_v2(std::string& out, const ProxiedConnection& connection) {
  out += kSignature;
  const bool v4 = is_over_v4(connection);
  out += static_cast<char>(kVersion2 | kCommandProxy);
  out += static_cast<char>(v4 ? kTcpOverV4 : kTcpOverV6);
  append_u16(out, v4 ? kV4AddressesSize : kV6AddressesSize);
  append_address(out, connection.source, v4);
  append_address(out, connection.destination, v4);
  append_u16(out, connection.source_port);
  append_u16(out, connection.destination_port);
}

}  // namespace prophecy::http

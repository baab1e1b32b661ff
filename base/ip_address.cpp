#include "base/ip_address.hpp"

#include <algorithm>

#include <arpa/inet.h>

namespace prophecy {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

IpAddress::IpAddress(std::span<const std::uint8_t, 4> v4) {
  std::copy(kMapped.begin(), kMapped.end(), bytes_.begin());
  std::copy(v4.begin(), v4.end(), bytes_.begin() + kMapped.size());
}

IpAddress::IpAddress(std::span<const std::uint8_t, 16> v6) {
  std::copy(v6.begin(), v6.end(), bytes_.begin());
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN] = "";
  if (text.size() >= sizeof terminated || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::copy(text.begin(), text.end(), terminated);
  std::array<std::uint8_t, 16> bytes{};
  if (::inet_pton(AF_INET, terminated, bytes.data()) == 1) {
    return IpAddress(std::span(bytes).first<4>());
  }
  if (::inet_pton(AF_INET6, terminated, bytes.data()) == 1) return IpAddress(std::span(bytes));
  return std::nullopt;
}

bool IpAddress::is_v4() const {
  return std::equal(kMapped.begin(), kMapped.end(), bytes_.begin());
}

IpAddress IpAddress::network(unsigned ipv6_prefix_bits) const {
  IpAddress network = *this;
  if (is_v4()) return network;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    const unsigned kept =
        std::clamp<int>(static_cast<int>(ipv6_prefix_bits) - static_cast<int>(8 * i), 0, 8);
    network.bytes_[i] &= static_cast<std::uint8_t>(0xff00U >> kept);
  }
  return network;
}

void IpAddress::append_to(std::string& out) const {
  char text[INET6_ADDRSTRLEN] = "";
  if (is_v4()) {
    ::inet_ntop(AF_INET, bytes_.data() + kMapped.size(), text, sizeof text);
  } else {
    ::inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
  }
  out += text;
}

std::string IpAddress::to_string() const {
  std::string text;
  append_to(text);
  return text;
}

}  // namespace prophecy

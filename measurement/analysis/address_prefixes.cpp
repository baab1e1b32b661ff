#include "measurement/analysis/address_prefixes.hpp"

#include <algorithm>
#include <tuple>

#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;  // before an IPv4 address

IpAddress masked(const IpAddress& address, unsigned bits) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (unsigned i = 0; i < bytes.size(); ++i) {
    const unsigned kept = std::clamp(bits, 8 * i, 8 * i + 8) - 8 * i;
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & ~(0xffU >> kept));
  }
  return IpAddress(std::span<const std::uint8_t, 16>(bytes));
}

}  // namespace

bool AddressPrefixes::add_line(std::string_view line) {
  line = http::trim(line.substr(0, line.find('#')));
  if (line.ends_with('\r')) line = http::trim(line.substr(0, line.size() - 1));
  if (line.empty()) return true;
  const std::string_view prefix = line.substr(0, line.find_first_of(" \t,"));
  std::string_view name = line.substr(prefix.size());
  name.remove_prefix(std::min(name.find_first_not_of(" \t,"), name.size()));
  const std::size_t slash = prefix.find('/');
  const auto address = IpAddress::parse(prefix.substr(0, slash));
  std::uint64_t bits = 0;
  if (!address || slash == std::string_view::npos ||
      !http::parse_decimal(prefix.substr(slash + 1), bits)) {
    return false;
  }
  if (address->is_v4() && prefix.find(':') == std::string_view::npos) bits += kMappedBits;
  if (bits > kBits) return false;
  Prefix entry;
  entry.bits = static_cast<unsigned>(bits);
  entry.network = masked(*address, entry.bits);
  entry.number = static_cast<std::uint32_t>(names_.size());
  prefixes_.push_back(entry);
  names_.emplace_back(name.empty() ? prefix : name);
  return true;
}

void AddressPrefixes::sort() {
  std::sort(prefixes_.begin(), prefixes_.end(), [](const Prefix& one, const Prefix& other) {
    return std::tuple(other.bits, one.network, one.number) <
           std::tuple(one.bits, other.network, other.number);
  });
  begins_.clear();
  for (std::size_t i = 0; i < prefixes_.size(); ++i) {
    if (i == 0 || prefixes_[i].bits != prefixes_[i - 1].bits) begins_.push_back(i);
  }
}

std::optional<std::uint32_t> AddressPrefixes::find(const IpAddress& address) const {
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    const auto begin = prefixes_.begin() + static_cast<std::ptrdiff_t>(begins_[i]);
    const auto end = i + 1 == begins_.size()
                         ? prefixes_.end()
                         : prefixes_.begin() + static_cast<std::ptrdiff_t>(begins_[i + 1]);
    const IpAddress network = masked(address, begin->bits);
    // An IPv6 prefix such as ::/0 holds no IPv4 address.
    if (address.is_v4() && begin->bits < kMappedBits) return std::nullopt;
    const auto found = std::lower_bound(
        begin, end, network,
        [](const Prefix& prefix, const IpAddress& wanted) { return prefix.network < wanted; });
    if (found != end && found->network == network) return found->number;
  }
  return std::nullopt;
}

}  // namespace prophecy::measurement

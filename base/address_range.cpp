#include "base/address_range.hpp"

#include <algorithm>
#include <charconv>

namespace prophecy {
namespace {

constexpr unsigned kBits = 128;
constexpr unsigned kMappedBits = 96;

// Whether the two agree in that many bits from the front.
bool agree(const IpAddress& one, const IpAddress& other, unsigned bits) {
  const unsigned whole = bits / 8;
  if (!std::equal(one.bytes().begin(), one.bytes().begin() + whole, other.bytes().begin())) {
    return false;
  }
  const unsigned rest = bits % 8;
  if (rest == 0) return true;
  return (one.bytes()[whole] ^ other.bytes()[whole]) >> (8 - rest) == 0;
}

bool ends_in_zeros(const IpAddress& address, unsigned prefix_bits) {
  for (unsigned bit = prefix_bits; bit < kBits; ++bit) {
    if ((address.bytes()[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

}  // namespace

Result<AddressRange> AddressRange::parse(std::string_view text) {
  const Error wrong{ErrorKind::invalid,
                    "expected ADDRESS or ADDRESS/BITS, numeric and without bits beyond the prefix, "
                    "as in \"10.0.0.0/8\" or \"2001:db8::/32\", got \"" +
                        std::string(text) + "\""};
  const std::size_t slash = text.find('/');
  const std::string_view address_text = text.substr(0, slash);
  const auto address = IpAddress::parse(address_text);
  if (!address) return wrong;
  if (slash == std::string_view::npos) return AddressRange(*address, kBits);

  const std::string_view bits_text = text.substr(slash + 1);
  const char* end = bits_text.data() + bits_text.size();
  unsigned bits = 0;
  const auto parsed = std::from_chars(bits_text.data(), end, bits);
  if (bits_text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return wrong;
  const bool dotted = address_text.find(':') == std::string_view::npos;
  if (bits > (dotted ? kBits - kMappedBits : kBits)) return wrong;
  if (dotted) bits += kMappedBits;
  // A mapped address with fewer would reach beyond IPv4.
  if (address->is_v4() && bits < kMappedBits) return wrong;
  if (!ends_in_zeros(*address, bits)) return wrong;
  return AddressRange(*address, bits);
}

bool AddressRange::contains(const IpAddress& address) const {
  return address.is_v4() == first_.is_v4() && agree(first_, address, prefix_bits_);
}

void AddressRange::append_to(std::string& out) const {
  first_.append_to(out);
  out += '/' + std::to_string(prefix_bits_ - (first_.is_v4() ? kMappedBits : 0));
}

bool contains(const AddressRanges& ranges, const IpAddress& address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const AddressRange& range) { return range.contains(address); });
}

}  // namespace prophecy

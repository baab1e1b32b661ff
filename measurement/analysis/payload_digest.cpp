#include "measurement/analysis/payload_digest.hpp"

#include <string>

#include "base/digest.hpp"
#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

// RFC 4648, without regard to case; padding is optional.
bool from_base32(std::string_view text, Bytes& out) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (char c : text) {
    c = http::to_lower(c);
    std::uint32_t value = 0;
    if (c >= 'a' && c <= 'z') {
      value = static_cast<std::uint32_t>(c - 'a');
    } else if (c >= '2' && c <= '7') {
      value = static_cast<std::uint32_t>(c - '2') + 26;
    } else {
      return false;
    }
    bits = (bits << 5 | value) & 0xfff;
    count += 5;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<std::uint8_t>(bits >> count));
    }
  }
  return true;
}

}  // namespace

std::optional<DeclaredDigest> parse_digest(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  DeclaredDigest digest;
  std::size_t size = std::tuple_size_v<Sha1::Digest>;
  const std::string_view name = text.substr(0, colon);
  if (http::equal_ignoring_case(name, "sha256") || http::equal_ignoring_case(name, "sha-256")) {
    digest.algorithm = DigestAlgorithm::sha256;
    size = std::tuple_size_v<Sha256::Digest>;
  } else if (!http::equal_ignoring_case(name, "sha1") &&
             !http::equal_ignoring_case(name, "sha-1")) {
    return std::nullopt;
  }
  text.remove_prefix(colon + 1);
  if (text.size() == 2 * size) {
    std::string lowered;
    http::append_lower(lowered, text);
    digest.value.resize(size);
    if (!from_hex(lowered, digest.value)) return std::nullopt;
    return digest;
  }
  if (!from_base32(text, digest.value) || digest.value.size() != size) return std::nullopt;
  return digest;
}

}  // namespace prophecy::measurement

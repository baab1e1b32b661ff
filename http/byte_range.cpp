#include "http/byte_range.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace prophecy::http {
namespace {

// A number too large to be read is beyond every representation.
bool parse_position(std::string_view text, std::uint64_t& value) {
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) return false;
  text.remove_prefix(std::min(text.find_first_not_of('0'), text.size() - 1));
  if (!parse_decimal(text, value)) value = UINT64_MAX;
  return true;
}

ByteRange last_bytes(std::string_view text, std::uint64_t length) {
  std::uint64_t count = 0;
  if (!parse_position(text, count)) return {};
  if (count == 0) return {.kind = ByteRange::Kind::unsatisfiable};
  if (length == 0) return {};
  const std::uint64_t size = std::min(count, length);
  return {.kind = ByteRange::Kind::part, .first = length - size, .size = size};
}

}  // namespace

ByteRange parse_byte_range(std::string_view field, std::uint64_t length) {
  constexpr std::string_view kUnit = "bytes=";
  if (field.size() < kUnit.size() || !equal_ignoring_case(field.substr(0, kUnit.size()), kUnit)) {
    return {};
  }
  const std::string_view range = trim(field.substr(kUnit.size()));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return {};
  if (dash == 0) return last_bytes(range.substr(1), length);
  std::uint64_t first = 0;
  std::uint64_t last = UINT64_MAX;
  if (!parse_position(range.substr(0, dash), first)) return {};
  if (dash + 1 < range.size() && !parse_position(range.substr(dash + 1), last)) return {};
  if (last < first) return {};
  if (first >= length) return {.kind = ByteRange::Kind::unsatisfiable};
  return {.kind = ByteRange::Kind::part,
          .first = first,
          .size = std::min(last, length - 1) - first + 1};
}

}  // namespace prophecy::http

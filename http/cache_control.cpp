#include "http/cache_control.hpp"

#include <algorithm>

#include "http/text.hpp"

namespace prophecy::http {
namespace {

constexpr std::uint64_t kSecondsMax = std::uint64_t{1} << 31;

}  // namespace

std::optional<std::uint32_t> max_age(std::string_view cache_control) {
  std::string_view directive;
  while (next_list_element(cache_control, directive)) {
    const std::size_t equals = directive.find('=');
    if (equals == std::string_view::npos) continue;
    if (!equal_ignoring_case(trim(directive.substr(0, equals)), "max-age")) continue;
    std::uint64_t seconds = 0;
    if (!parse_decimal(trim(directive.substr(equals + 1)), seconds)) return std::nullopt;
    return static_cast<std::uint32_t>(std::min(seconds, kSecondsMax));
  }
  return std::nullopt;
}

bool forbids_transformation(std::string_view cache_control) {
  std::string_view directive;
  while (next_list_element(cache_control, directive)) {
    if (equal_ignoring_case(trim(directive), "no-transform")) return true;
  }
  return false;
}

}  // namespace prophecy::http

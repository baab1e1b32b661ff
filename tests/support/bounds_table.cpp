#include "tests/support/bounds_table.hpp"

#include <charconv>
#include <sstream>

namespace prophecy::test {

Result<BoundsTable> BoundsTable::parse(std::string_view text,
                                       std::span<const std::string_view> names) {
  BoundsTable bounds;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("` | ");
    if (!line.starts_with("| `") || end == std::string::npos) continue;
    const char* const digits = line.data() + end + 4;
    std::size_t number = 0;
    if (std::from_chars(digits, line.data() + line.size(), number).ec != std::errc{}) continue;
    bounds.numbers_[line.substr(3, end - 3)] = number;
  }
  for (const std::string_view name : names) {
    if (!bounds.numbers_.contains(std::string(name))) {
      return Error{ErrorKind::invalid, "the table of bounds has no row " + std::string(name)};
    }
  }
  return bounds;
}

}  // namespace prophecy::test

// `BoundsTable` reads the table of bounds of a page in docs/, which an oracle checks runs against.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::test {

class BoundsTable {
 public:
  // Reads the rows "| `NAME` | NUMBER | ..." of a text. Fails unless each of `names` has one.
  [[nodiscard]] static Result<BoundsTable> parse(std::string_view text,
                                                 std::span<const std::string_view> names);

  // Requires one of the names that were asked for.
  [[nodiscard]] std::size_t at(std::string_view name) const {
    return numbers_.at(std::string(name));
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace prophecy::test

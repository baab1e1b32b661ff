// The bounds that the cost oracle checks: the table of docs/reads.md, section "Bounds".
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace prophecy::consistency {

class Bounds {
 public:
  // Reads the rows "| `NAME` | NUMBER | ..." of a text.
  [[nodiscard]] static Result<Bounds> parse(std::string_view text);

  // Requires that the table has the name; parse() has seen to it.
  [[nodiscard]] std::size_t at(std::string_view name) const {
    return numbers_.at(std::string(name));
  }

 private:
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace prophecy::consistency

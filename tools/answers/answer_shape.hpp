// Whether an answer of a program holds what a command is about to use. An admin socket is named by
// hand, and another program, or another version, may be behind it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"

namespace prophecy::tools {

// number: 0, 1, ...; fraction: any number.
enum class Shape : std::uint8_t { text, number, fraction, flag, object, objects };

struct Member {
  std::string_view name;
  Shape shape;
};

// The error names the first member that is missing or of another shape. `where` is the object's
// own name, and stands in front of the member's: "events[2].replica: expected a number". Empty for
// the answer itself.
[[nodiscard]] Result<> expect_members(const nlohmann::ordered_json& object,
                                      const std::string& where,
                                      std::initializer_list<Member> members);

}  // namespace prophecy::tools

// JSON for people: lists of objects as tables. What members or origins have named may control no
// terminal.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace prophecy::tools {

// A text without its quotes.
[[nodiscard]] std::string scalar_text(const nlohmann::ordered_json& value);

// A list of objects of one shape as a table, under its name.
void print_table(const std::string& title, const nlohmann::ordered_json& rows);

}  // namespace prophecy::tools

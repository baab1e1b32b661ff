#include "tools/table.hpp"

#include <algorithm>
#include <iostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/config/printable.hpp"

namespace prophecy::tools {

using Json = nlohmann::ordered_json;

namespace {

// What one cell of a table shows of a nested object: only the counts that are not zero. Of a list:
// its elements.
std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (!value.is_structured()) return scalar_text(value);
  std::string text;
  if (value.is_array()) {
    for (const Json& each : value)
      text += (text.empty() ? "" : "; ") + scalar_text(each);
    return text.empty() ? "-" : text;
  }
  for (const auto& [name, count] : value.items()) {
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name), scalar_text(count));
  }
  return text.empty() ? "-" : text;
}

}  // namespace

std::string scalar_text(const Json& value) {
  return value.is_string() ? printable(value.get_ref<const std::string&>()) : value.dump();
}

void print_table(const std::string& title, const Json& rows) {
  if (rows.empty()) return;
  std::vector<std::size_t> widths;
  for (const auto& [name, value] : rows.front().items())
    widths.push_back(printable(name).size());
  for (const Json& row : rows) {
    std::size_t column = 0;
    for (const auto& [name, value] : row.items()) {
      if (column < widths.size())
        widths[column] = std::max(widths[column], cell_text(value).size());
      ++column;
    }
  }
  std::cout << '\n' << title << '\n';
  std::size_t column = 0;
  for (const auto& [name, value] : rows.front().items()) {
    std::cout << fmt::format("  {:<{}}", printable(name), widths[column++]);
  }
  std::cout << '\n';
  for (const Json& row : rows) {
    column = 0;
    for (const auto& [name, value] : row.items()) {
      std::cout << fmt::format("  {:<{}}", cell_text(value),
                               column < widths.size() ? widths[column] : 0);
      ++column;
    }
    std::cout << '\n';
  }
}

}  // namespace prophecy::tools

// Lines of TOML: which ones make up one statement, and the names in them. For text that has syntax
// errors, where no parser says so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace prophecy {

// The lines of "key = [", "1," and "]"; numbers from 0, both included.
struct Statement {
  std::size_t first = 0;
  std::size_t last = 0;
  bool is_closed = true;  // all brackets and quotes of several lines are
};

// The statement that this line is a part of. REQUIRES number < lines.size().
[[nodiscard]] Statement statement_around(const std::vector<std::string>& lines, std::size_t number);

[[nodiscard]] std::string_view trimmed(std::string_view text);

// "limits.body" of "limits.body = 1", without quotes; "" when the line does not begin so.
[[nodiscard]] std::string key_of(std::string_view line);

// "limits" of "[limits]" and "[[limits]]"; "" for what is no heading.
[[nodiscard]] std::string heading_of(std::string_view line);

// "limits." for what stands below "[limits]" at this line; "" above all headings.
[[nodiscard]] std::string table_of(const std::vector<std::string>& lines, std::size_t number);

// The longest row of names with dots between them, "a.b.c", that begins on each line.
[[nodiscard]] std::vector<std::size_t> names_in_a_row(const std::vector<std::string>& lines);

// Whether this is a whole number as TOML writes it in the decimal system, however large.
[[nodiscard]] bool is_whole_number(std::string_view text);

}  // namespace prophecy

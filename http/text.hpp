// The small grammar that everything in HTTP is made of (RFC 9110, 5.6): tokens, optional white
// space, comma-separated lists. ASCII only; no locale is ever asked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace prophecy::http {

// A character of a token (RFC 9110, 5.6.2).
[[nodiscard]] bool is_token_char(char c);
[[nodiscard]] bool is_token(std::string_view text);

// What may stand in a field's value: visible ASCII, bytes from 0x80 on, and space and tab inside.
[[nodiscard]] bool is_field_value(std::string_view text);

[[nodiscard]] constexpr char to_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b);
void append_lower(std::string& out, std::string_view text);

// Without spaces and tabs at its beginning, or at both ends.
[[nodiscard]] std::string_view trim_front(std::string_view text);
[[nodiscard]] std::string_view trim(std::string_view text);

// Takes the next non-empty element off a comma-separated list; false at its end. Commas inside
// quoted strings do not separate.
[[nodiscard]] bool next_list_element(std::string_view& rest, std::string_view& element);

// 1*DIGIT of at most 18 digits, so that no sum of a few overflows. False for anything else.
[[nodiscard]] bool parse_decimal(std::string_view text, std::uint64_t& value);

}  // namespace prophecy::http

#include "http/text.hpp"

#include <array>

namespace prophecy::http {
namespace {

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c)
    table[c] = true;
  for (int c = 'a'; c <= 'z'; ++c)
    table[c] = true;
  for (int c = 'A'; c <= 'Z'; ++c)
    table[c] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}

constexpr std::array<bool, 256> kTokenTable = make_token_table();

constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

bool is_token_char(char c) {
  return kTokenTable[static_cast<unsigned char>(c)];
}

bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!is_token_char(c)) return false;
  }
  return !text.empty();
}

bool is_field_value(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
  }
  return true;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  }
  return true;
}

void append_lower(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out.append(text);
  for (std::size_t i = begin; i < out.size(); ++i)
    out[i] = to_lower(out[i]);
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back()))
    text.remove_suffix(1);
  return text;
}

bool next_list_element(std::string_view& rest, std::string_view& element) {
  while (!rest.empty()) {
    std::size_t end = 0;
    bool quoted = false;
    for (; end < rest.size() && (quoted || rest[end] != ','); ++end) {
      if (rest[end] == '"') quoted = !quoted;
      if (rest[end] == '\\' && quoted && end + 1 < rest.size()) ++end;
    }
    element = trim(rest.substr(0, end));
    rest.remove_prefix(end < rest.size() ? end + 1 : end);
    if (!element.empty()) return true;
  }
  return false;
}

bool parse_decimal(std::string_view text, std::uint64_t& value) {
  if (text.empty() || text.size() > 18) return false;
  value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

}  // namespace prophecy::http

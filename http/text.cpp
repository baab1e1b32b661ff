#include "http/text.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

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

bool has_no_control(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
  }
  return true;
}

// Eight bytes at once.
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);

std::uint64_t word_at(const char* place) {
  std::uint64_t word;
  std::memcpy(&word, place, sizeof word);
  return word;
}

constexpr std::uint64_t in_each_byte(unsigned char byte) {
  return byte * std::uint64_t{0x0101010101010101};
}

// The highest bits of the bytes tell which are capital letters; lower case has 0x20 set.
constexpr std::uint64_t lower_case(std::uint64_t word) {
  const std::uint64_t ascii = word & in_each_byte(0x7f);
  const std::uint64_t from_a = ascii + in_each_byte(0x80 - 'A');
  const std::uint64_t beyond_z = ascii + in_each_byte(0x80 - 'Z' - 1);
  return word | ((from_a & ~beyond_z & ~word & in_each_byte(0x80)) >> 2);
}

// Whether a byte of the eight is below 0x20, as tab is, or is 0x7f.
constexpr bool may_have_control(std::uint64_t word) {
  const std::uint64_t deletes = word ^ in_each_byte(0x7f);
  const std::uint64_t below = (word - in_each_byte(0x20)) & ~word;
  const std::uint64_t equal = (deletes - in_each_byte(0x01)) & ~deletes;
  return ((below | equal) & in_each_byte(0x80)) != 0;
}

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
  // Of each field of each message, so by words, the last of which may lie over the one before; only
  // one that may have a control byte is looked at closely.
  if (text.size() < kWordBytes) return has_no_control(text);
  for (std::size_t at = 0; at < text.size(); at += kWordBytes) {
    const std::size_t place = std::min(at, text.size() - kWordBytes);
    if (may_have_control(word_at(text.data() + place)) &&
        !has_no_control(text.substr(place, kWordBytes))) {
      return false;
    }
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
  const std::span<char> added = std::span(out).subspan(begin);
  if (added.size() < kWordBytes) {
    for (char& c : added)
      c = to_lower(c);
    return;
  }
  // The last word may lie over the one before: lower case stays as it is.
  for (std::size_t at = 0; at < added.size(); at += kWordBytes) {
    char* const place = added.data() + std::min(at, added.size() - kWordBytes);
    const std::uint64_t word = lower_case(word_at(place));
    std::memcpy(place, &word, sizeof word);
  }
}

std::string_view trim_front(std::string_view text) {
  while (!text.empty() && is_blank(text.front()))
    text.remove_prefix(1);
  return text;
}

std::string_view trim(std::string_view text) {
  text = trim_front(text);
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

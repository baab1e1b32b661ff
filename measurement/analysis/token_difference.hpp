// `TokenDifference` says which words of a text differ between two versions of it, and what they
// look like: section 8.2 of the paper asks whether transitions come of identifiers and of
// load balancing that a site could do without.
//
// Words are runs of letters, digits, "-" and "_"; any other byte is a word of its own. The texts
// are walked side by side; behind a difference the walk goes on where four words are equal again,
// at most 64 words further on. If there is no such place, the texts cannot be followed.
//
// No I/O. Plain functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace prophecy::measurement {

enum class TokenClass : std::uint8_t {
  random_identifier,
  host_number,  // of a load balancer: img3.example.org
  timestamp,
  nonce,
  csrf_token,
  counter,
  other,
};
inline constexpr std::array kTokenClassNames = {
    "random_identifier", "host_number", "timestamp", "nonce", "csrf_token", "counter", "other"};
constexpr std::size_t kTokenClasses = kTokenClassNames.size();

struct TokenDifference {
  bool followed = false;
  std::array<std::uint64_t, kTokenClasses> tokens{};  // that differ, if they could be followed
  // Where the first and the last difference lie.
  std::size_t begin = 0;
  std::size_t end_before = 0;
  std::size_t end_after = 0;

  [[nodiscard]] std::uint64_t of(TokenClass kind) const {
    return tokens[static_cast<std::size_t>(kind)];
  }
};

[[nodiscard]] TokenDifference difference_of(std::string_view before, std::string_view after);

// The class of a word that became another one; `text` is what the second stands in, `place` where.
[[nodiscard]] TokenClass class_of(std::string_view before, std::string_view after,
                                  std::string_view text, std::size_t place);

}  // namespace prophecy::measurement

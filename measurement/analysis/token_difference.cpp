#include "measurement/analysis/token_difference.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "http/text.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::size_t kTokensMax = 100'000;
constexpr std::size_t kAheadMax = 64;
constexpr std::size_t kEqualAgain = 4;
constexpr std::size_t kAroundBytes = 64;
constexpr std::size_t kNonceContextBytes = 16;
constexpr std::size_t kIdentifierBytesMin = 8;
constexpr std::size_t kCounterDigitsMax = 12;
constexpr std::size_t kHostDigitsMax = 4;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word_byte(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || c == '-';
}
bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

// Where the word at or before this place begins.
std::size_t word_begin(std::string_view text, std::size_t place) {
  while (place > 0 && place <= text.size() && is_word_byte(text[place - 1]))
    --place;
  return place;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size() && words.size() <= kTokensMax;) {
    std::size_t end = begin;
    while (end < text.size() && is_word_byte(text[end]))
      ++end;
    end = std::max(end, begin + 1);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

bool between(std::string_view digits, std::int64_t low, std::int64_t high) {
  std::uint64_t value = 0;
  return http::parse_decimal(digits, value) && value >= static_cast<std::uint64_t>(low) &&
         value < static_cast<std::uint64_t>(high);
}

// A point in time by itself: seconds or milliseconds since 1970, a date, a year, a name.
bool is_time(std::string_view word) {
  constexpr std::int64_t kFirst = 946'684'800;   // 2000
  constexpr std::int64_t kLast = 4'102'444'800;  // 2100
  if (all_digits(word)) {
    switch (word.size()) {
      case 4:
        return between(word, 1970, 2100);
      case 8:
      case 14:
        return between(word.substr(0, 4), 1970, 2100) && between(word.substr(4, 2), 1, 13) &&
               between(word.substr(6, 2), 1, 32);
      case 10:
        return between(word, kFirst, kLast);
      case 13:
        return between(word, kFirst * 1000, kLast * 1000);
      default:
        return false;
    }
  }
  if (word.size() >= 10 && word[4] == '-' && word[7] == '-') {
    return all_digits(word.substr(0, 4)) && all_digits(word.substr(5, 2)) &&
           all_digits(word.substr(8, 2));
  }
  constexpr std::array<std::string_view, 19> kNames = {
      "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct",
      "nov", "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun"};
  return word.size() >= 3 && word.size() <= 9 &&
         std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
           return http::equal_ignoring_case(word.substr(0, 3), name);
         });
}

bool is_clock_part(std::string_view word, std::string_view text, std::size_t place) {
  if (!all_digits(word) || word.size() > 2) return false;
  const std::size_t end = place + word.size();
  return (place > 0 && text[place - 1] == ':') || (end < text.size() && text[end] == ':');
}

bool is_identifier(std::string_view word) {
  if (word.size() < kIdentifierBytesMin) return false;
  const bool digit = std::any_of(word.begin(), word.end(), is_digit);
  const bool letter = std::any_of(word.begin(), word.end(), is_letter);
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const bool mixed = std::any_of(word.begin() + 1, word.end(), upper) &&
                     !std::all_of(word.begin(), word.end(), upper);
  return (digit && letter) || (word.size() > kCounterDigitsMax && (digit || mixed));
}

// Whether what stands before belongs to the host of a URL.
bool is_in_host(std::string_view context) {
  const std::size_t slashes = context.rfind("//");
  if (slashes == std::string_view::npos) return false;
  const std::string_view host = context.substr(slashes + 2);
  return std::all_of(host.begin(), host.end(), [](char c) { return is_word_byte(c) || c == '.'; });
}

std::string without_digits(std::string_view word) {
  std::string rest;
  std::copy_if(word.begin(), word.end(), std::back_inserter(rest),
               [](char c) { return !is_digit(c); });
  return rest;
}

std::size_t digits_in(std::string_view word) {
  return static_cast<std::size_t>(std::count_if(word.begin(), word.end(), is_digit));
}

using Words = std::vector<std::string_view>;

// The words of a text, and for each place a digest of the next few: most places differ, and are
// told apart by one number.
struct WordRuns {
  explicit WordRuns(Words list) : words(std::move(list)), runs(words.size() + 1, 0) {
    std::vector<std::uint64_t> digests(words.size() + kEqualAgain, 0);  // 0: behind the last one
    for (std::size_t i = 0; i < words.size(); ++i)
      digests[i] = ::XXH3_64bits(words[i].data(), words[i].size()) | 1;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      for (std::size_t k = 0; k < kEqualAgain; ++k)
        runs[i] = runs[i] * kFactor + digests[i + k];
    }
  }
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  Words words;
  std::vector<std::uint64_t> runs;
};

bool equal_again(const Words& before, std::size_t i, const Words& after, std::size_t j) {
  for (std::size_t k = 0; k < kEqualAgain; ++k) {
    const bool before_ends = i + k >= before.size();
    const bool after_ends = j + k >= after.size();
    if (before_ends || after_ends) return before_ends && after_ends;
    if (before[i + k] != after[j + k]) return false;
  }
  return true;
}

// Words of each that are passed over until both go on alike.
struct Skipped {
  std::size_t before = 0;
  std::size_t after = 0;

  [[nodiscard]] std::size_t sum() const { return before + after; }
  // As few words as possible, and as evenly: a word that became another one comes first.
  [[nodiscard]] bool is_better(const Skipped& other) const {
    if (sum() != other.sum()) return sum() < other.sum();
    return unevenness() < other.unevenness();
  }
  [[nodiscard]] std::size_t unevenness() const {
    const std::size_t half = sum() / 2;
    return before >= half ? 2 * (before - half) : 2 * (half - before) - 1;
  }
};

bool go_on_alike(const WordRuns& before, std::size_t i, const WordRuns& after, std::size_t j,
                 const Skipped& skipped) {
  return before.runs[i + skipped.before] == after.runs[j + skipped.after] &&
         equal_again(before.words, i + skipped.before, after.words, j + skipped.after);
}

// Nothing: they do not go on alike.
std::optional<Skipped> find_again(const WordRuns& before, std::size_t i, const WordRuns& after,
                                  std::size_t j) {
  const std::size_t before_max = std::min(kAheadMax, before.words.size() - i);
  const std::size_t after_max = std::min(kAheadMax, after.words.size() - j);
  // By far the most common.
  if (before_max > 0 && after_max > 0 && go_on_alike(before, i, after, j, {1, 1})) {
    const bool one_is_less =
        go_on_alike(before, i, after, j, {0, 1}) || go_on_alike(before, i, after, j, {1, 0});
    if (!one_is_less) return Skipped{1, 1};
  }
  std::array<std::pair<std::uint64_t, std::size_t>, kAheadMax + 1> places;
  for (std::size_t a = 0; a <= before_max; ++a)
    places[a] = {before.runs[i + a], a};
  const auto end = places.begin() + static_cast<std::ptrdiff_t>(before_max + 1);
  std::sort(places.begin(), end);
  std::optional<Skipped> best;
  for (std::size_t b = 0; b <= after_max && (!best || b <= best->sum()); ++b) {
    const std::uint64_t run = after.runs[j + b];
    for (auto place = std::lower_bound(places.begin(), end, std::pair{run, std::size_t{0}});
         place != end && place->first == run; ++place) {
      const Skipped skipped{place->second, b};
      if (skipped.sum() == 0 || (best && !skipped.is_better(*best))) continue;
      if (go_on_alike(before, i, after, j, skipped)) best = skipped;
    }
  }
  return best;
}

void count(const Words& before, std::size_t i, const Words& after, std::size_t j,
           const Skipped& skipped, std::string_view text, TokenDifference& difference) {
  for (std::size_t k = 0; k < std::max(skipped.before, skipped.after); ++k) {
    TokenClass kind = TokenClass::other;
    if (k < skipped.before && k < skipped.after) {
      if (before[i + k] == after[j + k]) continue;
      const auto place = static_cast<std::size_t>(after[j + k].data() - text.data());
      kind = class_of(before[i + k], after[j + k], text, place);
    }
    ++difference.tokens[static_cast<std::size_t>(kind)];
  }
}

}  // namespace

TokenClass class_of(std::string_view before, std::string_view after, std::string_view text,
                    std::size_t place) {
  const std::size_t begin = place - std::min(place, kAroundBytes);
  std::string context;
  http::append_lower(context, text.substr(begin, place - begin));
  for (const std::string_view name : {"csrf", "xsrf", "authenticity", "requestverification"}) {
    if (context.find(name) != std::string::npos) return TokenClass::csrf_token;
  }
  const std::size_t near = context.size() - std::min(context.size(), kNonceContextBytes);
  if (context.find("nonce", near) != std::string::npos) return TokenClass::nonce;
  if (is_in_host(context) && digits_in(after) > 0 && digits_in(after) <= kHostDigitsMax &&
      without_digits(before) == without_digits(after)) {
    return TokenClass::host_number;
  }
  if ((is_time(before) && is_time(after)) || is_clock_part(after, text, place)) {
    return TokenClass::timestamp;
  }
  if (all_digits(before) && all_digits(after) && after.size() <= kCounterDigitsMax) {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    if (http::parse_decimal(before, from) && http::parse_decimal(after, to) && to > from &&
        to - from <= std::max<std::uint64_t>(from, 10)) {
      return TokenClass::counter;
    }
  }
  if (is_identifier(before) && is_identifier(after)) return TokenClass::random_identifier;
  return TokenClass::other;
}

TokenDifference difference_of(std::string_view before, std::string_view after) {
  TokenDifference difference;
  const auto differs = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto same = static_cast<std::size_t>(differs.first - before.begin());
  difference.begin = std::min(word_begin(before, same), word_begin(after, same));
  const std::string_view old_rest = before.substr(difference.begin);
  const std::string_view new_rest = after.substr(difference.begin);
  const auto ends =
      std::mismatch(old_rest.rbegin(), old_rest.rend(), new_rest.rbegin(), new_rest.rend());
  auto tail = static_cast<std::size_t>(ends.first - old_rest.rbegin());
  // The end of a word that differs belongs to it.
  while (tail > 0 && is_word_byte(old_rest[old_rest.size() - tail]))
    --tail;
  difference.end_before = before.size() - tail;
  difference.end_after = after.size() - tail;
  const WordRuns old_runs(words_of(old_rest.substr(0, old_rest.size() - tail)));
  const WordRuns new_runs(words_of(new_rest.substr(0, new_rest.size() - tail)));
  const Words& old_words = old_runs.words;
  const Words& new_words = new_runs.words;
  if (old_words.size() > kTokensMax || new_words.size() > kTokensMax) return difference;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old_words.size() || j < new_words.size()) {
    if (i < old_words.size() && j < new_words.size() && old_words[i] == new_words[j]) {
      ++i;
      ++j;
      continue;
    }
    const auto skipped = find_again(old_runs, i, new_runs, j);
    if (!skipped) {
      difference.tokens = {};
      return difference;
    }
    count(old_words, i, new_words, j, *skipped, after, difference);
    i += skipped->before;
    j += skipped->after;
  }
  difference.followed = true;
  return difference;
}

}  // namespace prophecy::measurement

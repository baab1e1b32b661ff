#include "dht/core/lines.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace prophecy::dht {
namespace {

constexpr std::size_t kQuotedBytesMax = 64;

}  // namespace

Lines::Lines(std::string_view text, std::size_t bytes_max) : rest_(text) {
  if (text.size() > bytes_max) fail("the text is too long");
}

void Lines::line() {
  ++number_;
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos) return fail("line " + std::to_string(number_) + " is missing");
  words_ = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
}

void Lines::line(std::string_view name) {
  line();
  if (!failed() && word() != name) fail("\"" + std::string(name) + "\" is expected");
}

std::string_view Lines::word() {
  if (error_) return {};
  const std::size_t end = std::min(words_.find(' '), words_.size());
  const std::string_view found = words_.substr(0, end);
  words_.remove_prefix(std::min(end + 1, words_.size()));
  if (found.empty()) fail("a word is missing");
  return found;
}

std::string_view Lines::rest_of_line() {
  return error_ ? std::string_view() : std::exchange(words_, {});
}

std::uint64_t Lines::number(std::uint64_t least, std::uint64_t most, int base) {
  const std::string_view text = word();
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error_) return 0;
  if (status == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  fail("\"" + std::string(text.substr(0, kQuotedBytesMax)) + "\" is no such number");
  return 0;
}

void Lines::fail(std::string what) {
  if (error_) return;
  error_ = Error{ErrorKind::invalid, "line " + std::to_string(number_) + ": " + std::move(what)};
}

std::optional<Error> Lines::error() {
  if (!rest_.empty()) fail("there is more behind the end");
  return error_;
}

}  // namespace prophecy::dht

#include "pbft/services/origin_request.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "base/assert.hpp"
#include "http/text.hpp"
#include "http/writer.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kReserved = "prophecy-";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kAgreedFieldsSize = 192;

// A line of a head, of its start line as well: no method is called like this. CGI and its heirs
// tell '_' from '-' no more than they tell cases.
bool is_reserved(std::string_view line) {
  if (line.size() < kReserved.size()) return false;
  std::string name(line.substr(0, kReserved.size()));
  std::replace(name.begin(), name.end(), '_', '-');
  return http::equal_ignoring_case(name, kReserved);
}

void append_agreed(std::string& out, const Execution& execution) {
  http::append_field(out, "prophecy-time", format_agreed_time(execution.input.time));
  http::append_field(out, "prophecy-seed", to_hex(execution.input.seed));
  http::append_field(out, "prophecy-sequence", std::to_string(execution.sigma));
}

}  // namespace

std::string format_agreed_time(std::uint64_t nanoseconds) {
  using namespace std::chrono;
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const sys_seconds second{std::chrono::seconds(nanoseconds / kSecond)};
  const sys_days day = floor<days>(second);
  const year_month_day date(day);
  const hh_mm_ss time(second - day);
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%09uZ", int{date.year()},
      unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(time.hours().count()),
      static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()),
      static_cast<unsigned>(nanoseconds % kSecond));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string origin_request(const Execution& execution) {
  std::string_view rest = as_text(execution.operation);
  while (rest.starts_with(kLineEnd))  // the parser forgives empty lines in front
    rest.remove_prefix(kLineEnd.size());
  std::string out;
  if (!execution.whole) out.reserve(rest.size() + kAgreedFieldsSize);
  while (!rest.starts_with(kLineEnd)) {
    const std::size_t end = rest.find(kLineEnd);
    ASSERT(end != std::string_view::npos);
    const std::string_view line = rest.substr(0, end + kLineEnd.size());
    if (!is_reserved(line)) out += line;
    rest.remove_prefix(line.size());
  }
  if (execution.sigma != 0) append_agreed(out, execution);
  out += execution.whole ? kLineEnd : rest;
  return out;
}

}  // namespace prophecy::pbft

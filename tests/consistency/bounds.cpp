#include "consistency/bounds.hpp"

#include <array>
#include <charconv>
#include <sstream>

namespace prophecy::consistency {
namespace {

constexpr std::array<std::string_view, 15> kNames{
    "hedges-saved",           "origin-asks-per-read",    "origin-asks-per-block",
    "results-per-read",       "confirmations-under-way", "confirmations-at-once",
    "confirmations-paid-for", "calls-per-worker",        "calls-per-charge",
    "bytes-while-untaken",    "read-machine-bytes",      "body-relay-bytes",
    "group-core-bytes",       "events-to-an-end",        "reads-to-a-name"};

}  // namespace

Result<Bounds> Bounds::parse(std::string_view text) {
  Bounds bounds;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("` | ");
    if (!line.starts_with("| `") || end == std::string::npos) continue;
    const char* const digits = line.data() + end + 4;
    std::size_t number = 0;
    if (std::from_chars(digits, line.data() + line.size(), number).ec != std::errc{}) continue;
    bounds.numbers_[line.substr(3, end - 3)] = number;
  }
  for (const std::string_view name : kNames) {
    if (!bounds.numbers_.contains(std::string(name))) {
      return Error{ErrorKind::invalid, "the table of bounds has no row " + std::string(name)};
    }
  }
  return bounds;
}

}  // namespace prophecy::consistency

// `CapturedAnswer` is an answer as a capture has received it, with its content decoded or not as
// its fields say, and without a transfer coding.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "measurement/input/timestamp.hpp"

namespace prophecy::measurement {

struct CapturedAnswer {
  std::string method = "GET";
  std::string url;
  Microseconds time = 0;
  std::string address;  // of the server; empty: not known
  std::uint16_t status = 0;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
};

// Takes the answers of a round as they come.
using AnswerTaker = std::function<Result<>(const CapturedAnswer&)>;

// Counts of one round.
struct RoundFigures {
  std::uint64_t answers = 0;
  std::uint64_t failures = 0;  // answers that did not come whole
  std::uint64_t skipped = 0;   // not asked for, since a server has asked for a pause
};

}  // namespace prophecy::measurement

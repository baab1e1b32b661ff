// `prophecy-measure follow`: transition ratios from an access log that is still being written.
#pragma once

#include <cstdint>
#include <string>

#include "base/command_line/command_line.hpp"

namespace prophecy::measurement {

struct FollowOptions {
  std::string log;
  std::string json;  // the result in the end; "-": on standard output, and nothing else
  std::string log_origin = "http://localhost";
  std::uint64_t interval_s = 10;
  std::uint64_t duration_s = 0;  // 0: until it is stopped
  std::uint64_t top = 20;
  std::uint64_t minimum = 0;
  bool once = false;
};

void add_follow(const Command& program, FollowOptions& options);

}  // namespace prophecy::measurement

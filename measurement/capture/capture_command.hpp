// `prophecy-measure capture`: asks sites for their pages again and again, and keeps the answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/command_line/command_line.hpp"
#include "measurement/capture/browser_capture.hpp"
#include "measurement/capture/plain_fetcher.hpp"

namespace prophecy::measurement {

struct CaptureOptions {
  std::string urls;   // a list: --plain
  std::string sites;  // a list: --sites
  std::string replay;
  std::string output;
  std::string interval = "20s";
  std::string duration;
  std::string temporary_folder;
  std::uint64_t body_bytes_max = 64 << 20;
  FetchOptions fetch;
  BrowserOptions browser;
  PageOptions pages;
};

void add_capture(const Command& program, CaptureOptions& options);

}  // namespace prophecy::measurement

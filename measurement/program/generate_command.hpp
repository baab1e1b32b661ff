// `prophecy-measure generate`: writes a synthetic crawl, and prints what counting has to find.
#pragma once

#include <string>

#include "base/command_line/command_line.hpp"
#include "measurement/synthetic_crawl.hpp"

namespace prophecy::measurement {

struct GenerateOptions {
  std::string output;
  std::string format = "warc";
  CrawlPlan plan;
};

// The options must outlive the run of the program.
void add_generate(const Command& program, GenerateOptions& options);

}  // namespace prophecy::measurement

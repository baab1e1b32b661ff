// `prophecy-measure compare`: two runs side by side.
#pragma once

#include <string>

#include "base/command_line/command_line.hpp"

namespace prophecy::measurement {

struct CompareOptions {
  std::string first;
  std::string second;
  std::string json;
  std::string temporary_folder;
};

void add_compare(const Command& program, CompareOptions& options);

}  // namespace prophecy::measurement

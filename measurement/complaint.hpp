// The exit status of a command that has nothing to show, and the line that says why.
#pragma once

#include <iostream>
#include <string>

namespace prophecy::measurement {

constexpr int kUnusable = 2;

inline int fail(const std::string& problem) {
  std::cerr << "prophecy-measure: " << problem << '\n';
  return kUnusable;
}

}  // namespace prophecy::measurement

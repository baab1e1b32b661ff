#include "pbft/services/state/name_patterns.hpp"

#include <algorithm>

#include <fnmatch.h>

namespace prophecy::pbft {

bool NamePatterns::match(const std::string& path) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
    const bool whole = pattern.find('/') != std::string::npos;
    const char* subject = path.c_str() + (whole ? 0 : path.rfind('/') + 1);  // npos + 1 is 0
    return ::fnmatch(pattern.c_str(), subject, 0) == 0;
  });
}

}  // namespace prophecy::pbft

#include "dht/zookeeper/core/path.hpp"

#include <algorithm>

#include "dht/zookeeper/core/limits.hpp"

namespace prophecy::zookeeper {

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kPathBytesMax && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c > ' ' && c <= '~' && c != '/'; });
}

bool is_path(std::string_view path) {
  if (path.empty() || path.size() > kPathBytesMax || path.front() != '/') return false;
  if (path.size() == 1) return true;
  for (std::size_t begin = 1; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (!is_name(path.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace prophecy::zookeeper

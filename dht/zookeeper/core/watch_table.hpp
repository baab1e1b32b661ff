// `WatchTable` knows which watches a session has set, so that they can be set anew after a
// reconnection. A watch fires once. It is a hint: it may come late, and one event stands for any
// number of changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "dht/zookeeper/core/answer.hpp"
#include "dht/zookeeper/core/encode.hpp"

namespace prophecy::zookeeper {

class WatchTable {
 public:
  enum class Kind : std::uint8_t { data = 1, absent = 2, children = 4 };

  void add(Kind kind, const std::string& path);
  // Forgets the watches that have fired. False: none was set for this event.
  [[nodiscard]] bool fire(const WatchEvent& event);
  void clear() { kinds_.clear(); }

  [[nodiscard]] std::size_t paths() const { return kinds_.size(); }
  [[nodiscard]] WatchedPaths watched() const;

 private:
  std::map<std::string, std::uint8_t> kinds_;
};

}  // namespace prophecy::zookeeper

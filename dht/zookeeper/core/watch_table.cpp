#include "dht/zookeeper/core/watch_table.hpp"

namespace prophecy::zookeeper {
namespace {

constexpr std::uint8_t bit(WatchTable::Kind kind) {
  return static_cast<std::uint8_t>(kind);
}

std::uint8_t fired_by(WatchEvent::Kind kind) {
  constexpr std::uint8_t kNode = bit(WatchTable::Kind::data) | bit(WatchTable::Kind::absent);
  constexpr std::uint8_t kChildren = bit(WatchTable::Kind::children);
  switch (kind) {
    case WatchEvent::Kind::created:
    case WatchEvent::Kind::data_changed:
      return kNode;
    case WatchEvent::Kind::deleted:
      return kNode | kChildren;
    case WatchEvent::Kind::children_changed:
      return kChildren;
    case WatchEvent::Kind::other:
      return 0;
  }
  return 0;
}

}  // namespace

void WatchTable::add(Kind kind, const std::string& path) {
  kinds_[path] |= bit(kind);
}

bool WatchTable::fire(const WatchEvent& event) {
  const auto found = kinds_.find(event.path);
  if (found == kinds_.end()) return false;
  const auto fired = static_cast<std::uint8_t>(found->second & fired_by(event.kind));
  found->second &= static_cast<std::uint8_t>(~fired);
  if (found->second == 0) kinds_.erase(found);
  return fired != 0;
}

WatchedPaths WatchTable::watched() const {
  WatchedPaths paths;
  for (const auto& [path, kinds] : kinds_) {
    if ((kinds & bit(Kind::data)) != 0) paths.data.push_back(path);
    if ((kinds & bit(Kind::absent)) != 0) paths.absent.push_back(path);
    if ((kinds & bit(Kind::children)) != 0) paths.children.push_back(path);
  }
  return paths;
}

}  // namespace prophecy::zookeeper

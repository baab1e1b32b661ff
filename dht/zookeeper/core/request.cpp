#include "dht/zookeeper/core/request.hpp"

#include "dht/zookeeper/core/limits.hpp"
#include "dht/zookeeper/core/path.hpp"

namespace prophecy::zookeeper {
namespace {

struct SetsWatch {
  bool operator()(const GetData& get) const { return get.watch; }
  bool operator()(const GetChildren& get) const { return get.watch; }
  bool operator()(const Exists& exists) const { return exists.watch; }
  bool operator()(const auto&) const { return false; }
};

struct IsSound {
  bool operator()(const Multi& multi) const {
    if (multi.steps.empty() || multi.steps.size() > kStepsMax) return false;
    for (const Step& step : multi.steps) {
      if (!std::visit(*this, step)) return false;
    }
    return true;
  }
  bool operator()(const auto& on_one_node) const { return is_path(on_one_node.path); }
};

}  // namespace

bool sets_watch(const Request& request) {
  return std::visit(SetsWatch(), request);
}

bool is_sound(const Request& request) {
  return std::visit(IsSound(), request);
}

}  // namespace prophecy::zookeeper

// Evidence: an answer of one replica that the group's agreement refuted. A worker turns each into
// one JSON line and hands it to the master, which numbers, logs and keeps the last ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"
#include "sketcher/core/read/divergence.hpp"
#include "sketcher/counters/counters.hpp"

namespace prophecy::sketcher {

// One line, without its end; at most kEventBytesMax.
// An event of a shadow accuses no replica: it begins so, and no other does.
constexpr std::string_view kShadowEventBegin = R"({"role":"shadow",)";
[[nodiscard]] std::string to_json(const Divergence& divergence, std::uint32_t worker);

// The worker's end: sends without waiting; what does not fit is counted as lost.
class DivergenceReporter {
 public:
  DivergenceReporter(UniqueFd channel, std::uint32_t worker, WorkerCounters& counters);
  void report(const Divergence& divergence);
  // An event that came too fast is counted as lost.
  void withhold() { counters_.events_lost.add(); }

 private:
  UniqueFd channel_;
  std::uint32_t worker_;
  WorkerCounters& counters_;
};

}  // namespace prophecy::sketcher

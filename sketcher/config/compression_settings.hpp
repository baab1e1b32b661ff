// Which answers of a route get a content coding, and what that may take of a worker.
#pragma once

#include "base/config/config.hpp"
#include "sketcher/answer/answer_rules.hpp"

namespace prophecy::sketcher {

// [compression]
struct CompressionLimits {
  std::size_t bytes_max = 0;   // of coded bodies, for each worker
  double processor_share = 0;  // of each worker's time
};
[[nodiscard]] CompressionLimits read_compression_limits(ConfigSection section);

// [route.compression]
[[nodiscard]] CompressionRules read_compression(ConfigSection section);

}  // namespace prophecy::sketcher

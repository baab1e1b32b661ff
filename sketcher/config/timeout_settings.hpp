// [timeouts]: how long clients and origins may take.
#pragma once

#include "base/clock.hpp"
#include "base/config/config.hpp"

namespace prophecy::sketcher {

struct TimeoutSettings {
  Duration header{}, body{}, idle{}, send{}, connect{}, answer{}, total{}, drain{}, tunnel{},
      stream{}, origin_idle{}, body_total{};
};

// All but origin_idle, which [origins] has. `body_bytes_max` is the limit of one body.
[[nodiscard]] TimeoutSettings read_timeouts(ConfigSection section, std::uint64_t body_bytes_max);

}  // namespace prophecy::sketcher

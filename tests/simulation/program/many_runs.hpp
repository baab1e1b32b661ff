// Many seeds on many cores: processes that each take the next seed until one has failed. All
// seeds below the one that is reported have been run, so that the result is the same however many
// processes there are.
#pragma once

#include <cstdint>
#include <optional>

#include "simulation/coverage.hpp"
#include "simulation/program/options.hpp"

namespace prophecy::simulation {

struct ManyRuns {
  std::optional<std::uint64_t> failed;  // the lowest seed that did
  Coverage coverage;                    // of all runs that held
  double elapsed_s = 0;
};

// Tells of its progress now and then.
[[nodiscard]] ManyRuns run_many(const Options& options);

}  // namespace prophecy::simulation

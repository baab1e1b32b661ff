// A configuration that follows from a measurement, with its reasons as comments: `[[route]]`
// sections for the sketcher and a `[canonical]` section for the group, both for an operator to read
// before he takes them over.
//
// A path is blacklisted, so that the group answers its reads at once, where a fast read fails so
// often that trying it costs more than it saves, by the cost model. The rules are those of
// canonical_proposal.hpp.
#pragma once

#include <filesystem>
#include <ostream>

#include "base/error.hpp"
#include "measurement/figures.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

// Fewer pairs are too few to propose anything for a path.
constexpr std::uint64_t kProposedPairsMin = 5;

// `parties`: only first-party hosts; null: all.
void write_routes(const MeasurementResult& result, const CostModel& cost, const Parties* parties,
                  std::ostream& out);

// Both, as routes.toml and canonical.toml, into this folder, which is made if it is not there.
[[nodiscard]] Result<> write_proposal(const MeasurementResult& result, const CostModel& cost,
                                      const Parties* parties, const std::filesystem::path& folder);

}  // namespace prophecy::measurement

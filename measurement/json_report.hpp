// The result of an analysis as JSON; docs/measurement.md describes its members.
#pragma once

#include <ostream>

#include "measurement/figures.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

void write_json(const MeasurementResult& result, const Figures& figures, std::ostream& out);

}  // namespace prophecy::measurement

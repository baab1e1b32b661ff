// The result of an analysis in a few lines, for a terminal.
#pragma once

#include <ostream>

#include "measurement/figures.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

void write_text(const MeasurementResult& result, const Figures& figures, std::ostream& out);

}  // namespace prophecy::measurement

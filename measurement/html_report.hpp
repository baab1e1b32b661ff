// The result of an analysis as one HTML page that needs nothing beside it: no script runs in it,
// and it holds the JSON output as data. Each number that is shown names its place in the JSON
// (`data-path`).
#pragma once

#include <ostream>

#include "measurement/figures.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

void write_html(const MeasurementResult& result, const Figures& figures, std::ostream& out);

}  // namespace prophecy::measurement

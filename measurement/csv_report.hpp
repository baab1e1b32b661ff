// The result of an analysis as CSV files (RFC 4180) in a folder.
#pragma once

#include <filesystem>

#include "base/error.hpp"
#include "measurement/figures.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

// Makes the folder if it is not there, and replaces files of the same names.
[[nodiscard]] Result<> write_csv(const MeasurementResult& result, const Figures& figures,
                                 const std::filesystem::path& folder);

}  // namespace prophecy::measurement

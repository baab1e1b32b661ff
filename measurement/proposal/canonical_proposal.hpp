// A proposed [canonical] section: rules that would make observed transitions equal pairs, and
// settings that would let more answers be sketched, each with the ratio that it would give.
//
// The rules are tried: the inputs are read again under them. Settings that a measurement cannot
// justify (they give one client's answer to others) stand in comments, tried as well.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "canonical/profile.hpp"
#include "measurement/analyze.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

// The [canonical] section of a file that holds nothing else. An error has the line.
[[nodiscard]] Result<sketch::Profile> read_canonical(const std::filesystem::path& file);

// Reads the inputs again, once for each trial, and notes the trials in the result. Requires the
// options of that result.
[[nodiscard]] Result<> try_rules(MeasurementResult& result, const AnalyzeOptions& options);

// The section, for the group file, as text.
[[nodiscard]] std::string canonical_text(const MeasurementResult& result);

}  // namespace prophecy::measurement

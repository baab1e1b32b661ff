// Reads the inputs of `prophecy-measure analyze` one after the other, and counts. This thread
// parses and sketches; others read and expand, one for each of the next inputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "canonical/profile.hpp"
#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

struct AnalyzeOptions {
  std::vector<std::string> inputs;
  std::vector<std::string> access_logs;  // behind the inputs
  std::filesystem::path sketch_log;      // all answers are written there; empty: nowhere
  std::filesystem::path prefixes;        // a file of address prefixes; empty: none
  std::filesystem::path temporary_folder;
  sketch::Profile profile;                             // by which answers are sketched
  std::string log_origin = "http://localhost";         // of the targets in access logs
  std::uint64_t spool_bytes = std::uint64_t{1} << 30;  // for bodies; 0: bodies are not compared
};

// Problems of inputs are in the result. An error is one of this machine.
[[nodiscard]] Result<MeasurementResult> analyze(const AnalyzeOptions& options);

}  // namespace prophecy::measurement

// `CaptureFolder` is where a capture lies: a WARC file and a sketch log for each round, and
// capture.json, which says how it is made. A round without its WARC file was interrupted, and is
// made again. One capture at a time uses a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "measurement/input/damage.hpp"

namespace prophecy::measurement {

struct CapturePlan {
  std::string kind;  // "plain" or "sites"
  std::uint64_t interval_s = 20;
  std::uint64_t rounds = 1;
};

class CaptureFolder {
 public:
  // Makes the folder, or goes on with the capture in it. An error: another capture is under way
  // there, or it was made by another plan.
  [[nodiscard]] static Result<CaptureFolder> open(const std::filesystem::path& folder,
                                                  const CapturePlan& plan);

  // From 1 on: the first round that is missing. Beyond the plan's, if none is.
  [[nodiscard]] std::uint64_t next_round() const;
  [[nodiscard]] std::filesystem::path warc_of(std::uint64_t round) const;

 private:
  explicit CaptureFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path folder_;
  UniqueFd lock_;
};

// The WARC files of a capture, in the order of its rounds; empty: it is none.
[[nodiscard]] std::vector<std::string> rounds_in(const std::filesystem::path& folder);
// The inputs with each folder of a capture replaced by its rounds. What would be counted twice, or
// is no input, is left out with a message: a file that is named twice, a round's sketch log beside
// its WARC file, the description of a capture.
struct ExpandedInputs {
  std::vector<std::string> files;
  std::vector<std::string> messages;
};
[[nodiscard]] ExpandedInputs expand_captures(const std::vector<std::string>& inputs);
// Writes the sketch log that stands beside a WARC file. Yields what is damaged in it, which is left
// out: a server may have sent an answer that is none.
[[nodiscard]] Result<std::vector<Damage>> write_sketches(
    const std::filesystem::path& warc, const std::filesystem::path& temporary_folder);
[[nodiscard]] std::filesystem::path sketches_of(const std::filesystem::path& warc);

}  // namespace prophecy::measurement

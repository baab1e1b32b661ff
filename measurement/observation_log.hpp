// `ObservationLog` sorts observations by URL, time and place in the inputs, whatever the order in
// which inputs hold them. A bounded number lies in memory; more go to an unnamed file as sorted
// runs, which are merged in the end. So memory does not grow with the number of answers.
//
// For one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "measurement/analysis/transitions.hpp"

namespace prophecy::measurement {

class ObservationLog {
 public:
  // `folder` is for the file, if there has to be one.
  explicit ObservationLog(std::filesystem::path folder, std::size_t held_max = 500'000);

  [[nodiscard]] Result<> append(const Observation& observation);
  // All of them, in order. Once.
  [[nodiscard]] Result<> for_each(const std::function<void(const Observation&)>& take);

 private:
  struct Run {
    std::uint64_t begin = 0;  // bytes, in the file
    std::uint64_t end = 0;
  };
  class RunReader;

  [[nodiscard]] Result<> write_run();

  std::filesystem::path folder_;
  std::size_t held_max_;
  std::vector<Observation> held_;
  UniqueFd file_;
  std::vector<Run> runs_;
};

}  // namespace prophecy::measurement

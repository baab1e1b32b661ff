// `Comparison` sets two runs side by side: what a change of a site, or of time, did to its ratios.
//
// Only URLs that both runs have with a pair are compared with each other.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "measurement/measurement_result.hpp"

namespace prophecy::measurement {

struct ComparedUrl {
  std::string url;
  Pairs first;
  Pairs second;
  [[nodiscard]] double difference() const { return second.ratio() - first.ratio(); }
};

struct Comparison {
  static constexpr std::size_t kListedMax = 20;

  Pairs first;  // of all URLs
  Pairs second;
  Pairs first_common;  // of the URLs that both have with a pair
  Pairs second_common;
  std::uint64_t urls_common = 0;
  std::uint64_t urls_only_first = 0;
  std::uint64_t urls_only_second = 0;
  std::uint64_t more_static = 0;  // of the common URLs: with a lower ratio in the second run
  std::uint64_t less_static = 0;
  std::vector<ComparedUrl> urls;  // by the size of the difference, largest first; at most 20
};

[[nodiscard]] Comparison compare(const MeasurementResult& first, const MeasurementResult& second);

void write_text(const Comparison& comparison, std::ostream& out);
void write_json(const Comparison& comparison, std::ostream& out);

}  // namespace prophecy::measurement

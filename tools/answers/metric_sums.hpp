// `sum_metrics` makes one page of metrics of those of several members of a ring: counters and
// buckets of histograms are added up, series by series, over members and their workers; gauges stay
// apart, each with the member that it is of, since a sum of versions, shares or flags says nothing.
#pragma once

#include <span>
#include <string>

#include "base/error.hpp"

namespace prophecy::tools {

struct MemberPage {
  std::string member;
  std::string text;  // in Prometheus' text format
};

// The label that gauges get.
inline constexpr const char* kOfMember = "of_member";

// An error names the member and the line that cannot be read.
[[nodiscard]] Result<std::string> sum_metrics(std::span<const MemberPage> pages);

}  // namespace prophecy::tools

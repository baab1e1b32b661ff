// What the checker tells the master of one check: a message of fixed size. The checker has read an
// origin's bytes, and the master believes it nothing but these numbers, which it looks at first.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

#include "replica_client/core/health/check_rule.hpp"

namespace prophecy::sketcher {

struct CheckReport {
  std::uint32_t group = 0;
  std::uint32_t replica = 0;
  std::uint32_t outcome = 0;  // a CheckOutcome
  std::uint32_t status = 0;   // of the answer; 0 without one
};
static_assert(std::is_trivially_copyable_v<CheckReport>);

// Nothing unless the outcome is one. Whether there is such a group is not known here.
[[nodiscard]] inline std::optional<CheckReport> parse_check_report(std::string_view bytes) {
  CheckReport report;
  if (bytes.size() != sizeof report) return std::nullopt;
  std::memcpy(&report, bytes.data(), sizeof report);
  if (report.outcome >= replica_client::kCheckOutcomeCount) return std::nullopt;
  return report;
}

}  // namespace prophecy::sketcher

// Asks a member of a ring for a report of each member: its status, or its page of metrics.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace prophecy::tools {

struct ClusterReport {
  std::string member;
  std::string text;
  std::string problem;  // why there is no text
};

// `kind`: "status" or "metrics". Waits for members some seconds. False: what is wrong has been
// printed.
[[nodiscard]] bool ask_members(const std::filesystem::path& socket, std::string_view kind,
                               std::vector<ClusterReport>& reports);

// Prints those that have a problem to the error output. Yields the exit status: 1, if there is one.
[[nodiscard]] int report_missing(const std::vector<ClusterReport>& reports);

}  // namespace prophecy::tools

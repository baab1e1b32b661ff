// Lists of URLs that a capture may ask for. Nothing is captured that such a list does not name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace prophecy::measurement {

struct ListedUrl {
  std::string url;
  std::string host;  // with its port
};

// A URL a line; "#" begins a comment, and empty lines are passed over. A line without a scheme is a
// site's host name, for https. An error names the line.
[[nodiscard]] Result<std::vector<ListedUrl>> read_url_list(const std::filesystem::path& path);

}  // namespace prophecy::measurement

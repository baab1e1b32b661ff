// `open_log_file` opens a file that the sketcher appends to, and that an operator rotates.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

// Opens the file for appending, and makes it with mode 0640 if it is missing. Refuses symbolic
// links, anything but a regular file, a file of another user than root or our own, and a file that
// its group or others may write. `name` stands in errors ("divergence log").
[[nodiscard]] Result<UniqueFd> open_log_file(const std::filesystem::path& path,
                                             std::string_view name);

}  // namespace prophecy::sketcher

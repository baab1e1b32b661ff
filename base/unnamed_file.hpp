// An anonymous temporary file: no path leads to it, and the kernel frees it with its last
// descriptor.
#pragma once

#include <filesystem>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy {

[[nodiscard]] Result<UniqueFd> make_unnamed_file(const std::filesystem::path& folder);

}  // namespace prophecy

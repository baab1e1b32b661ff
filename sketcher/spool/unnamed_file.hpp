// A file that nobody else can find, and that goes with its descriptor, however its process ends.
#pragma once

#include <filesystem>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

[[nodiscard]] Result<UniqueFd> make_unnamed_file(const std::filesystem::path& folder);

}  // namespace prophecy::sketcher

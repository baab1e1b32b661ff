// Files of keys, made together: all of them, or none.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace prophecy::tools {

struct KeyFile {
  std::string name;
  std::string content;
  FileSecrecy secrecy;
};

// In a folder that is made (mode 0700) when there is none. Returns the files' paths. Overwrites
// nothing; after a failure none of the files is left.
[[nodiscard]] Result<std::vector<std::filesystem::path>> create_files(
    const std::filesystem::path& directory, const std::vector<KeyFile>& files);

}  // namespace prophecy::tools

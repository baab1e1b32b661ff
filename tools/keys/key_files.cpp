#include "tools/keys/key_files.hpp"

#include <cerrno>

#include <sys/stat.h>

namespace prophecy::tools {

Result<std::vector<std::filesystem::path>> create_files(const std::filesystem::path& directory,
                                                        const std::vector<KeyFile>& files) {
  const bool made_directory = ::mkdir(directory.c_str(), 0700) == 0;
  if (!made_directory && errno != EEXIST) return io_error(directory.string());

  std::vector<std::filesystem::path> made;
  for (const KeyFile& file : files) {
    const std::filesystem::path path = directory / file.name;
    std::error_code existence;
    const bool existed = std::filesystem::exists(std::filesystem::symlink_status(path, existence));
    auto created = existed ? Result<>(Error{ErrorKind::invalid, path.string() + ": exists already"})
                           : create_file(path, file.content, file.secrecy);
    if (created) {
      made.push_back(path);
      continue;
    }
    std::error_code ignored;
    // create_file may have failed behind the creation, on a full disk.
    if (!existed) std::filesystem::remove(path, ignored);
    for (const auto& other : made)
      std::filesystem::remove(other, ignored);
    if (made_directory) std::filesystem::remove(directory, ignored);
    return created.error();
  }
  return made;
}

}  // namespace prophecy::tools

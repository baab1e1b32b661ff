// A folder of a test's own, gone at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace prophecy::test {

class TemporaryFolder {
 public:
  TemporaryFolder() : TemporaryFolder(std::filesystem::temp_directory_path()) {}
  // For what says nothing about a disk, and would wait for one often: in memory, as far as the
  // machine has such a folder.
  static TemporaryFolder in_memory() {
    const std::filesystem::path shared = "/dev/shm";
    return TemporaryFolder(
        std::filesystem::exists(shared) ? shared : std::filesystem::temp_directory_path());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(const std::filesystem::path& parent) {
    std::string pattern = (parent / "prophecy-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }

  std::filesystem::path path_;
};

}  // namespace prophecy::test

// `ProfileFolder` is a folder for a browser's profile, and is gone with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace prophecy::measurement {

class ProfileFolder {
 public:
  explicit ProfileFolder(const std::filesystem::path& parent) {
    std::string name = (parent / "prophecy-browser-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ProfileFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ProfileFolder(const ProfileFolder&) = delete;
  ProfileFolder& operator=(const ProfileFolder&) = delete;
  // Empty: it could not be made, and errno says why.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace prophecy::measurement

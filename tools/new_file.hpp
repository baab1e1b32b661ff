// A file that appears under its name when it is whole, and not before; otherwise nothing is left.
#pragma once

#include <filesystem>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::tools {

class NewFile {
 public:
  // Mode 0600, beside its later place.
  [[nodiscard]] static Result<NewFile> create(const std::filesystem::path& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Requires that its content is on the disk. Fails where there is something already, unless that
  // may be replaced.
  [[nodiscard]] Result<> keep(bool replaces);

 private:
  NewFile(std::filesystem::path path, std::filesystem::path part, UniqueFd fd)
      : path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  std::filesystem::path part_;  // empty once it is kept
  UniqueFd fd_;
};

}  // namespace prophecy::tools

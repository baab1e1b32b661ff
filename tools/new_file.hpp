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
  NewFile(std::filesystem::path path, std::filesystem::path part, bool is_named, UniqueFd fd)
      : path_(std::move(path)), part_(std::move(part)), is_named_(is_named), fd_(std::move(fd)) {}

  std::filesystem::path path_;
  // Its name until it is kept: from the beginning only where the file system has no files without
  // one, which a killed program leaves nothing of.
  std::filesystem::path part_;
  bool is_named_;
  UniqueFd fd_;
};

}  // namespace prophecy::tools

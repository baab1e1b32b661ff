// What is known of the content of files that were read before, so that an unchanged one is not read
// again. A file counts as unchanged when its device, number, size, modification time and change
// time are those of then; a program can set the modification time, but not the change time.
//
// File systems keep times coarsely: a file that changed just before it was read may change again
// without showing it. Such a file is remembered as recent, and not believed unless nothing can have
// written to it since.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include <sys/stat.h>

#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

class FileMemory {
 public:
  // Two seconds is the coarsest that file systems in use are.
  static constexpr std::int64_t kRecentSeconds = 2;

  // `looked_at`: the wall clock, in seconds, before the content was read.
  void note(const std::string& path, const struct stat& status, const Digest& content,
            std::int64_t looked_at) {
    files_[path] = {key_of(status), content, status.st_ctim.tv_sec + kRecentSeconds >= looked_at};
  }
  [[nodiscard]] std::optional<Digest> content(const std::string& path, const struct stat& status,
                                              bool recent_too) const {
    const auto known = files_.find(path);
    if (known == files_.end() || (known->second.recent && !recent_too)) return std::nullopt;
    if (!(known->second.key == key_of(status))) return std::nullopt;
    return known->second.content;
  }
  // Takes over what the other knows of the same file.
  void copy(const std::string& path, const FileMemory& other) {
    if (const auto known = other.files_.find(path); known != other.files_.end()) {
      files_[path] = known->second;
    }
  }
  [[nodiscard]] std::size_t size() const { return files_.size(); }
  void clear() { files_.clear(); }

 private:
  struct Key {
    std::uint64_t device = 0;
    std::uint64_t number = 0;
    std::int64_t size = 0;
    std::int64_t modified[2] = {};
    std::int64_t changed[2] = {};
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    Digest content{};
    bool recent = false;
  };
  static Key key_of(const struct stat& status) {
    return {status.st_dev,
            status.st_ino,
            status.st_size,
            {status.st_mtim.tv_sec, status.st_mtim.tv_nsec},
            {status.st_ctim.tv_sec, status.st_ctim.tv_nsec}};
  }

  std::unordered_map<std::string, Known> files_;
};

}  // namespace prophecy::pbft

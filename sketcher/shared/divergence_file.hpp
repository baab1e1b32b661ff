// `DivergenceFile` appends lines to the operator's divergence_log.
//
// Lines are whole or missing: one that does not fit, because of the bound or the disk, is skipped
// and counted. The file belongs to the operator between calls: it may be renamed, and reopened for
// a new one, or truncated in place. Only the master calls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

class DivergenceFile {
 public:
  explicit DivergenceFile(Logger& log) : log_(log) {}

  // Appends to this file from now on, up to so many bytes; see open_log_file().
  [[nodiscard]] Result<> open(const std::filesystem::path& path, std::uint64_t bytes_max);
  // The same path anew. On an error the former file stays open.
  [[nodiscard]] Result<> reopen();
  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }

  // With its end of line. Nothing happens while no file is open.
  void append(std::string_view line);

  // Lines that the file does not have: it was full, or the disk refused them.
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  [[nodiscard]] bool write(std::string_view line);
  void skip(std::string_view event, const std::string& problem);

  Logger& log_;
  std::filesystem::path path_;
  std::uint64_t bytes_max_ = 0;
  UniqueFd file_;
  bool is_skipping_ = false;  // and has been logged
  std::uint64_t skipped_ = 0;
};

}  // namespace prophecy::sketcher

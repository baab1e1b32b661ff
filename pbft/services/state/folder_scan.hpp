// Walks a folder and makes its tree of parts. What cannot be read, or kept, makes the walk fail;
// but it goes on to its end and counts, since whether a state is full must not depend on that.
// In a process of root's, the folder's owner does it (FolderOwner): what the origin may not read is
// no part of its state. Blocking.
#pragma once

#include <optional>

#include "pbft/services/state/file_memory.hpp"
#include "pbft/services/state/folder_files.hpp"
#include "pbft/services/state/folder_rules.hpp"
#include "pbft/services/state/part_sequence.hpp"

namespace prophecy::pbft {

class FolderScan {
 public:
  // `known` says what need not be read; files that it calls recent only if `recent_too`. All that
  // is referred to must outlive the scan.
  FolderScan(const FolderRules& rules, PartPipe& pipe, PartSink& sink, const FileMemory& known,
             bool recent_too)
      : rules_(rules),
        pipe_(pipe),
        sink_(sink),
        known_(known),
        recent_too_(recent_too),
        budget_(rules) {}

  [[nodiscard]] Result<Digest> run(int folder);
  // What is known after it, of the files that are there.
  [[nodiscard]] FileMemory& seen() { return seen_; }
  [[nodiscard]] std::uint64_t files_read() const { return files_read_; }
  // Nothing where something could not be counted.
  [[nodiscard]] std::optional<std::uint64_t> fill_percent() const {
    if (!is_counted_) return std::nullopt;
    return budget_.fill_percent();
  }

 private:
  // Without a digest that means anything once something has failed.
  [[nodiscard]] Result<Digest> scan_folder(int folder, const std::string& path, std::size_t depth);
  [[nodiscard]] Result<std::optional<FolderEntry>> scan_entry(int folder, const std::string& name,
                                                              const std::string& path,
                                                              std::size_t depth);
  [[nodiscard]] Result<Digest> scan_inside(int folder, const std::string& name,
                                           const std::string& path, std::size_t depth);
  [[nodiscard]] Result<> scan_file(int folder, const std::string& path, const struct stat& status,
                                   FolderEntry& entry);

  [[nodiscard]] Result<> read_file(int folder, const std::string& path, const struct stat& status,
                                   FolderEntry& entry);
  // Notes the first error that is no reason to end the walk; returns the others.
  [[nodiscard]] Result<> fail(Error error);

  const FolderRules& rules_;
  PartPipe& pipe_;
  PartSink& sink_;
  const FileMemory& known_;
  bool recent_too_;
  FolderBudget budget_;
  FileMemory seen_;
  std::uint64_t files_read_ = 0;
  std::optional<Error> failed_;
  bool is_counted_ = false;
};

// The digest of an open file's content; `status` is that of the file, which may not change.
// Ends early when `pipe` is closed.
[[nodiscard]] Result<Digest> read_content(int file, const struct stat& status, PartSink& sink,
                                          const PartPipe& pipe, const std::string& path);
// Seconds of the wall clock.
[[nodiscard]] std::int64_t wall_seconds();
[[nodiscard]] std::uint64_t modified_seconds(const struct stat& status);

}  // namespace prophecy::pbft

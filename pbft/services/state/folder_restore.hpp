// Makes a folder what a tree of parts says, changing only what differs. Before anything is touched,
// the whole tree is checked against the rules, and all content is read that is not in its place
// already: a part that is missing or damaged leaves the folder as it was. What the state does not
// have is removed before anything is written. New content is written under a temporary name beside
// the old one and renamed; what is left over by a crash belongs to no state, and the next restore
// removes it.
//
// In a process of root's, the folder's owner does all of it (FolderOwner); new files are his. Else
// they are this process's user's.
//
// Blocking.
#pragma once

#include <set>
#include <utility>

#include "pbft/services/state/file_memory.hpp"
#include "pbft/services/state/folder_files.hpp"
#include "pbft/services/state/folder_rules.hpp"
#include "pbft/services/state/part_sequence.hpp"

namespace prophecy::pbft {

class FolderRestore {
 public:
  // `memory` is kept up to date. All that is referred to must outlive this.
  FolderRestore(const FolderRules& rules, PartPipe& pipe, FileMemory& memory)
      : rules_(rules), pipe_(pipe), memory_(memory), budget_(rules) {}

  [[nodiscard]] Result<> run(int folder, const Digest& root);
  [[nodiscard]] std::uint64_t files_written() const { return files_written_; }

 private:
  using Entries = std::vector<FolderEntry>;

  [[nodiscard]] Result<Entries> read_listing(const Digest& root, std::uint64_t entries_max);
  // `folder` is the one that is to become this; -1: it is not there, or cannot be looked into.
  [[nodiscard]] Result<> check(int folder, const Digest& root, const std::string& path,
                               std::size_t depth);
  [[nodiscard]] Result<> check_entry(int folder, const FolderEntry& entry, const std::string& path,
                                     std::size_t depth);
  [[nodiscard]] Result<> check_content(const FolderEntry& entry);
  // The file that is there has this content. What was read of it is kept in the memory.
  [[nodiscard]] bool is_in_place(int folder, const FolderEntry& entry, const std::string& path);
  // Removes what the state does not have: a disk may be full of that.
  [[nodiscard]] Result<> make_room(int folder, const Digest& root, const std::string& path);
  [[nodiscard]] Result<> apply(int folder, const Digest& root, const std::string& path);
  [[nodiscard]] Result<> remove_others(int folder, const Entries& entries, const std::string& path);
  [[nodiscard]] Result<> apply_folder(int folder, const FolderEntry& entry,
                                      const std::string& path);
  [[nodiscard]] Result<> apply_link(int folder, const FolderEntry& entry, const std::string& path);
  [[nodiscard]] Result<> apply_file(int folder, const FolderEntry& entry, const std::string& path);
  [[nodiscard]] Result<bool> keep_file(int folder, const FolderEntry& entry,
                                       const std::string& path);
  [[nodiscard]] Result<> write_file(int folder, const FolderEntry& entry, const std::string& path);
  [[nodiscard]] Result<> fill_file(int file, const FolderEntry& entry, const std::string& whole);

  const FolderRules& rules_;
  PartPipe& pipe_;
  FileMemory& memory_;
  FolderBudget budget_;
  // Of which all parts were read, with its size.
  std::set<std::pair<Digest, std::uint64_t>> whole_;
  std::uint64_t files_written_ = 0;
};

}  // namespace prophecy::pbft

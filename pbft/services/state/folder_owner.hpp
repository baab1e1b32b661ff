// `FolderOwner` lets the calling thread work on files as the owner of a folder, while it lives.
//
// An agent that runs as root looks at and restores the folder of an origin that nobody trusts: a
// link or a file that the origin exchanges at the right moment must not be opened, changed or given
// away with root's rights. Nor must a file be read that the origin may not read, and has only a
// hard link to: it would be restored as the origin's own. What is made anew belongs to the folder's
// owner without being given away.
//
// Does nothing in a process that is not root's, and for a folder of root's. Made and destroyed on
// one thread; other threads keep their rights.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace prophecy::pbft {

// In a process of root's: an error where somebody else than root and the folder's owner could have
// put another folder, or a link, into its place: `path` may lead to it through links.
[[nodiscard]] Result<> check_place(int folder, const std::filesystem::path& path);

class FolderOwner {
 public:
  FolderOwner() = default;
  FolderOwner(const FolderOwner&) = delete;
  FolderOwner& operator=(const FolderOwner&) = delete;
  ~FolderOwner();

  // Once. `path` is for the error.
  [[nodiscard]] Result<> become(int folder, const std::string& path);

 private:
  bool is_other_ = false;
  std::vector<gid_t> groups_left_;  // this process's others, beside its own
};

}  // namespace prophecy::pbft

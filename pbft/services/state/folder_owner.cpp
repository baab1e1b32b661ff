#include "pbft/services/state/folder_owner.hpp"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

constexpr uid_t kNobody = static_cast<uid_t>(-1);  // asks without a change

// These calls return the former id, and no error.
bool set_user(uid_t user) {
  ::setfsuid(user);
  return static_cast<uid_t>(::setfsuid(kNobody)) == user;
}

bool set_group(gid_t group) {
  ::setfsgid(group);
  return static_cast<gid_t>(::setfsgid(kNobody)) == group;
}

}  // namespace

Result<> FolderOwner::become(int folder, const std::string& path) {
  ASSERT(!is_other_);
  struct stat status {};
  if (::fstat(folder, &status) != 0) return io_error(path);
  if (::geteuid() != 0 || status.st_uid == 0) return {};
  is_other_ = true;
  // The group first: only root may change it.
  if (set_group(status.st_gid) && set_user(status.st_uid)) return {};
  return Error{ErrorKind::io, path + ": this process may not act as the folder's owner"};
}

FolderOwner::~FolderOwner() {
  if (!is_other_) return;
  // A thread that stays somebody else would fail at everything that comes.
  const bool is_root = set_user(::geteuid()) && set_group(::getegid());
  ASSERT(is_root);
}

}  // namespace prophecy::pbft

#include "pbft/services/state/folder_owner.hpp"

#include <utility>

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

Result<std::vector<gid_t>> other_groups() {
  const int number = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(number > 0 ? static_cast<std::size_t>(number) : 0);
  if (number < 0 || ::getgroups(number, groups.data()) != number) return io_error("getgroups");
  return groups;
}

// Where the old call takes groups of 16 bits.
#ifdef SYS_setgroups32
constexpr long kSetGroups = SYS_setgroups32;
#else
constexpr long kSetGroups = SYS_setgroups;
#endif

// Of this thread: the C library's function changes those of all threads.
bool set_other_groups(const std::vector<gid_t>& groups) {
  return ::syscall(kSetGroups, groups.size(), groups.data()) == 0;
}

// Each folder above it.
Result<> check_above(const std::filesystem::path& path, uid_t owner) {
  for (std::filesystem::path above = path.parent_path();; above = above.parent_path()) {
    struct stat status {};
    if (::stat(above.c_str(), &status) != 0) return io_error(above.string());
    const bool is_anybodys = (status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0;
    if ((status.st_uid != 0 && status.st_uid != owner) || is_anybodys) {
      return Error{ErrorKind::invalid,
                   path.string() + ": " + above.string() +
                       " is writable by others than root and the folder's owner, who could put "
                       "another folder there; give it to one of them"};
    }
    if (above == above.parent_path()) return {};
  }
}

}  // namespace

Result<> check_place(int folder, const std::filesystem::path& path) {
  if (::geteuid() != 0) return {};
  struct stat status {};
  if (::fstat(folder, &status) != 0) return io_error(path.string());
  const std::filesystem::path given = std::filesystem::absolute(path).lexically_normal();
  if (auto checked = check_above(given, status.st_uid); !checked) return checked;
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) return Error{ErrorKind::io, path.string() + ": " + error.message()};
  return check_above(real, status.st_uid);
}

Result<> FolderOwner::become(int folder, const std::string& path) {
  ASSERT(!is_other_);
  struct stat status {};
  if (::fstat(folder, &status) != 0) return io_error(path);
  if (::geteuid() != 0 || status.st_uid == 0) return {};
  auto groups = other_groups();
  if (!groups) return groups.error();
  // The groups first: only root may change them.
  if (groups->empty() || set_other_groups({})) {
    groups_left_ = std::move(*groups);
    is_other_ = true;
    if (set_group(status.st_gid) && set_user(status.st_uid)) return {};
  }
  return Error{ErrorKind::io,
               path + ": this process is root's and may not act as the folder's owner (it needs " +
                   "CAP_SETUID and CAP_SETGID, or to run as the owner)"};
}

FolderOwner::~FolderOwner() {
  if (!is_other_) return;
  // A thread that stays somebody else would fail at everything that comes.
  const bool is_root = set_user(::geteuid()) && set_group(::getegid()) &&
                       (groups_left_.empty() || set_other_groups(groups_left_));
  ASSERT(is_root);
}

}  // namespace prophecy::pbft

#include "base/account.hpp"

#include <cerrno>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

namespace prophecy {

Result<Account> find_account(const std::string& user, const std::optional<std::string>& group) {
  errno = 0;
  const passwd* const entry = ::getpwnam(user.c_str());
  if (entry == nullptr) {
    return Error{ErrorKind::invalid, "there is no user \"" + user + "\""};
  }
  if (entry->pw_uid == 0) return Error{ErrorKind::invalid, "expected another user than root"};
  Account account{.user = entry->pw_uid, .group = entry->pw_gid, .groups = {}};
  if (group) {
    const ::group* const found = ::getgrnam(group->c_str());
    if (found == nullptr) {
      return Error{ErrorKind::invalid, "there is no group \"" + *group + "\""};
    }
    if (found->gr_gid == 0) {
      return Error{ErrorKind::invalid, "expected another group than root's"};
    }
    account.group = found->gr_gid;
    account.groups = {account.group};
    return account;
  }
  int count = 64;
  account.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(user.c_str(), account.group, account.groups.data(), &count) < 0) {
    account.groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(user.c_str(), account.group, account.groups.data(), &count) < 0) {
      return Error{ErrorKind::invalid, "cannot list the groups of \"" + user + "\""};
    }
  }
  account.groups.resize(static_cast<std::size_t>(count));
  return account;
}

bool may_become(const Account& account) {
  return ::geteuid() == 0 || ::geteuid() == account.user;
}

Result<> become(const Account& account) {
  if (::geteuid() == account.user) return {};
  if (::setgroups(account.groups.size(), account.groups.data()) != 0) return io_error("setgroups");
  if (::setresgid(account.group, account.group, account.group) != 0) return io_error("setresgid");
  if (::setresuid(account.user, account.user, account.user) != 0) return io_error("setresuid");
  if (::setuid(0) == 0) return Error{ErrorKind::io, "the change of user could be taken back"};
  return {};
}

}  // namespace prophecy

// `Account` is the user that a process started by root goes on as.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace prophecy {

struct Account {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;  // further ones
};

// With a group given, the account is in that group alone. Refuses root and root's group.
[[nodiscard]] Result<Account> find_account(const std::string& user,
                                           const std::optional<std::string>& group);

// Whether this process may become the account, or is it.
[[nodiscard]] bool may_become(const Account& account);

// For good: neither a later call nor a set-user-ID program takes it back. Ends the wish to be
// signalled at the parent's death, and makes core dumps possible again where the system allows
// them.
[[nodiscard]] Result<> become(const Account& account);

}  // namespace prophecy

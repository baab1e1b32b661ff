// What keeps keys out of sight: wiping, core dumps, accounts.
#include <algorithm>
#include <array>

#include <catch2/catch.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/account.hpp"
#include "base/io/core_dumps.hpp"
#include "base/wipe.hpp"

namespace prophecy {
namespace {

// Runs in a child, since what it does to a process is for good, and tells whether it held.
template <class Check>
bool holds_in_child(const Check& check) {
  const int pid = ::fork();
  if (pid == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

rlim_t core_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_CORE, &limit);
  return limit.rlim_cur;
}

}  // namespace

TEST_CASE("a secret is gone at the end of its scope, and when that is left early") {
  std::array<std::uint8_t, 4> bytes{1, 2, 3, 4};
  std::string text = "secret";
  {
    const WipeAtEnd wipe_bytes(bytes);
    const WipeAtEnd wipe_text(text);
    CHECK(bytes[0] == 1);
  }
  CHECK(bytes == std::array<std::uint8_t, 4>{});
  CHECK(text == std::string(6, '\0'));
}

TEST_CASE("a process without core dumps has none, nor have its children") {
  CHECK(holds_in_child([] {
    return forbid_core_dumps() && core_limit() == 0 && ::prctl(PR_GET_DUMPABLE) == 0 &&
           holds_in_child([] { return core_limit() == 0 && ::prctl(PR_GET_DUMPABLE) == 0; });
  }));
  CHECK(holds_in_child([] {
    const bool forbidden = forbid_core_dumps().has_value();
    allow_core_dumps();
    rlimit limit{};
    ::getrlimit(RLIMIT_CORE, &limit);
    return forbidden && limit.rlim_cur == limit.rlim_max && ::prctl(PR_GET_DUMPABLE) == 1;
  }));
}

TEST_CASE("accounts are found by name, and root is none") {
  CHECK(find_account("no such user", std::nullopt).error().kind == ErrorKind::invalid);
  CHECK(find_account("root", std::nullopt).error().kind == ErrorKind::invalid);
  CHECK(find_account("nobody", "no such group").error().kind == ErrorKind::invalid);
  CHECK(find_account("nobody", "root").error().kind == ErrorKind::invalid);
  const auto account = find_account("nobody", std::nullopt);
  REQUIRE(account.has_value());
  CHECK(account->user != 0);
  CHECK(std::count(account->groups.begin(), account->groups.end(), account->group) == 1);
  const auto in_one_group = find_account("nobody", "nogroup");
  REQUIRE(in_one_group.has_value());
  CHECK(in_one_group->groups == std::vector<gid_t>{in_one_group->group});
}

TEST_CASE("who became an account does not come back") {
  const auto account = find_account("nobody", std::nullopt);
  REQUIRE(account.has_value());
  CHECK(may_become(*account) == (::geteuid() == 0 || ::geteuid() == account->user));
  const bool is_root = ::geteuid() == 0;
  CHECK(holds_in_child([&] { return become(*account).has_value() == may_become(*account); }));
  if (!is_root) return;
  CHECK(holds_in_child([&] {
    return become(*account) && ::geteuid() == account->user && ::getuid() == account->user &&
           ::getegid() == account->group && ::seteuid(0) != 0 && ::setgid(0) != 0 &&
           ::getgroups(0, nullptr) == static_cast<int>(account->groups.size());
  }));
}

}  // namespace prophecy

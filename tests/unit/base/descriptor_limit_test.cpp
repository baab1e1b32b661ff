// How many files a program may have open.
#include "base/io/descriptor_limit.hpp"

#include <array>
#include <string_view>

#include <catch2/catch.hpp>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace prophecy {
namespace {

struct LimitSeen {
  rlim_t soft = 0;
  bool is_allowed = false;
  bool is_warned = false;
};

// In a child, which may open this many, as root or as another user.
LimitSeen allow_in_child(rlimit limit, const DescriptorNeed& need, bool as_root) {
  std::array<int, 2> said{};
  std::array<int, 2> logged{};
  REQUIRE(::pipe(said.data()) == 0);
  REQUIRE(::pipe(logged.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(logged[1], STDERR_FILENO);
    LimitSeen seen;
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(1);
    if (!as_root && ::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
    {
      Logger log("test", {});
      seen.is_allowed = allow_descriptors(need, log).has_value();
    }
    ::getrlimit(RLIMIT_NOFILE, &limit);
    seen.soft = limit.rlim_cur;
    ::_exit(::write(said[1], &seen, sizeof seen) == sizeof seen ? 0 : 1);
  }
  ::close(said[1]);
  ::close(logged[1]);
  LimitSeen seen;
  CHECK(::read(said[0], &seen, sizeof seen) == sizeof seen);
  std::array<char, 1000> text{};
  const ssize_t size = ::read(logged[0], text.data(), text.size() - 1);
  seen.is_warned = size > 0 && std::string_view(text.data()).find("too-few-descriptors") !=
                                   std::string_view::npos;
  ::waitpid(child, nullptr, 0);
  ::close(said[0]);
  ::close(logged[0]);
  return seen;
}

}  // namespace

TEST_CASE("A program may open as many files as its configuration needs, and no more") {
  const LimitSeen seen = allow_in_child({50, 200}, {.most = 150, .least = 100}, false);
  CHECK(seen.is_allowed);
  CHECK(seen.soft == 150);
  CHECK_FALSE(seen.is_warned);
}

TEST_CASE("A soft limit beyond that stays") {
  CHECK(allow_in_child({180, 200}, {.most = 150, .least = 100}, false).soft == 180);
}

TEST_CASE("Fewer files than the configuration may need are reported") {
  const LimitSeen seen = allow_in_child({50, 200}, {.most = 300, .least = 200}, false);
  CHECK(seen.is_allowed);
  CHECK(seen.soft == 200);
  CHECK(seen.is_warned);
}

TEST_CASE("With too few files for any work a program does not begin") {
  const LimitSeen seen = allow_in_child({50, 200}, {.most = 300, .least = 201}, false);
  CHECK_FALSE(seen.is_allowed);
}

TEST_CASE("Root raises the hard limit as well") {
  const LimitSeen seen = allow_in_child({50, 200}, {.most = 300, .least = 200}, true);
  CHECK(seen.is_allowed);
  // Other users do not, nor does root without CAP_SYS_RESOURCE.
  CHECK(seen.soft == (seen.is_warned ? 200u : 300u));
}

}  // namespace prophecy

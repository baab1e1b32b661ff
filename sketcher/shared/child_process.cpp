#include "sketcher/shared/child_process.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io/core_dumps.hpp"

namespace prophecy::sketcher {
namespace {

// Everything but the standard streams and `keep`.
void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  int next = STDERR_FILENO + 1;
  for (const int fd : keep) {
    if (fd > next) ::close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd - 1), 0);
    next = fd + 1;
  }
  ::close_range(static_cast<unsigned>(next), ~0U, 0);
}

// Nothing that it runs has more rights than it has, and it has those of the account alone.
Result<> give_up_rights(const Settings& settings) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return io_error("PR_SET_NO_NEW_PRIVS");
  if (!settings.account) return {};
  if (auto became = become(*settings.account); !became) return became;
  if (!settings.core_dumps) return forbid_core_dumps();
  allow_core_dumps();
  return {};
}

}  // namespace

Result<ChildProcess> start_child(const Settings& settings, std::vector<int> keep,
                                 const std::function<int(UniqueFd channel)>& work) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return io_error("socketpair");
  }
  ChildProcess child;
  child.channel.reset(ends[0]);
  UniqueFd channel(ends[1]);
  const int master_pid = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) return io_error("fork");
  if (child.pid > 0) return child;
  if (auto given_up = give_up_rights(settings); !given_up) {
    std::cerr << "prophecy-sketcher: sketcher.user: " << given_up.error().message << std::endl;
    ::_exit(1);
  }
  // Without a master nobody could clean up after it, or start anew on its ports.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != master_pid) ::_exit(1);
  keep.push_back(channel.get());
  close_all_but(std::move(keep));
  ::_exit(work(std::move(channel)));
}

}  // namespace prophecy::sketcher

#include "simulation/program/child.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.hpp"

namespace prophecy::simulation {

pid_t start_child(const std::function<void()>& work) {
  std::cout.flush();
  std::cerr.flush();
  const pid_t child = fork();
  ASSERT(child >= 0);
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  set_watchdog();
  work();
  std::cout.flush();
  _exit(0);
}

void set_watchdog() {
  const itimerval limit{{0, 0}, {kRunSecondsMax, 0}};
  ASSERT(setitimer(ITIMER_PROF, &limit, nullptr) == 0);
}

std::string describe_end(int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status)) return "exits with status " + std::to_string(WEXITSTATUS(status));
  if (WTERMSIG(status) == SIGPROF) return "does not end";
  return std::string("ends by a signal: ") + strsignal(WTERMSIG(status));
}

}  // namespace prophecy::simulation

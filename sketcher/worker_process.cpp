#include "sketcher/worker_process.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sketcher/worker.hpp"

namespace prophecy::sketcher {
namespace {

// Everything but the standard streams and `keep`, so that a worker holds none of the master's
// sockets, and none of another worker's.
void close_all_but(std::vector<int> keep) {
  std::sort(keep.begin(), keep.end());
  int next = STDERR_FILENO + 1;
  for (const int fd : keep) {
    if (fd > next) ::close_range(static_cast<unsigned>(next), static_cast<unsigned>(fd - 1), 0);
    next = fd + 1;
  }
  ::close_range(static_cast<unsigned>(next), ~0U, 0);
}

// Rises with real time, so a replacement's sessions start beyond what its predecessor used: no
// session makes a million requests a second.
std::uint64_t wall_clock_micros() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

[[noreturn]] void be_worker(const WorkerProcess& process, UniqueFd channel, int master_pid,
                            const Installation& installation, const std::vector<int>& listeners,
                            HistoryTable& table, const SharedState& shared, Logger& log) {
  // Without a master nobody could clean up after another worker, or start anew on these ports.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != master_pid) ::_exit(1);
  std::vector<int> keep = listeners;
  keep.push_back(channel.get());
  close_all_but(std::move(keep));

  log.rename("worker-" + std::to_string(process.index));
  table.attach(static_cast<WriterSlot>(process.index + 1));
  shared.worker(process.index).connections.set(0);
  shared.worker(process.index).tunnels.set(0);
  WorkerSetup setup;
  setup.index = process.index;
  for (const int fd : listeners)
    setup.listeners.emplace_back(fd);
  setup.event_channel = std::move(channel);
  setup.first_timestamp = wall_clock_micros();
  const int status = run_worker(installation, std::move(setup), table, shared, log);
  // Destructors of the master's objects are not ours to run.
  ::_exit(status);
}

}  // namespace

Result<> start_worker(WorkerProcess& process, const Installation& installation,
                      const std::vector<int>& listeners, HistoryTable& table,
                      const SharedState& shared, Logger& log) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return io_error("socketpair");
  }
  process.events.reset(ends[0]);
  UniqueFd channel(ends[1]);
  const int master_pid = ::getpid();
  const int pid = ::fork();
  if (pid < 0) return io_error("fork");
  if (pid == 0) {
    be_worker(process, std::move(channel), master_pid, installation, listeners, table, shared, log);
  }
  process.pid = pid;
  process.state = WorkerState::running;
  process.started = std::chrono::steady_clock::now();
  return {};
}

}  // namespace prophecy::sketcher

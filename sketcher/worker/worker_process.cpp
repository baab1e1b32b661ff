#include "sketcher/worker/worker_process.hpp"

#include <chrono>

#include "sketcher/shared/child_process.hpp"
#include "sketcher/worker/worker.hpp"

namespace prophecy::sketcher {
namespace {

// Rises with real time, so a replacement's sessions start beyond what its predecessor used: no
// session makes a million requests a second.
std::uint64_t wall_clock_micros() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

int be_worker(std::uint32_t index, UniqueFd channel, const Installation& installation,
              const KeptFiles& kept, HistoryTable& table, const SharedState& shared, Logger& log) {
  log.rename("worker-" + std::to_string(index));
  const SpoolSettings& spool = installation.settings.spool;
  if (installation.settings.account &&
      installation.settings.limits.request.body_bytes_max > spool.from_bytes) {
    if (auto checked = check(spool); !checked) {
      log.error("spool-folder-not-usable", {{"problem", checked.error().message}});
    }
  }
  table.attach(static_cast<WriterSlot>(index + 1));
  if (kept.wake >= 0) shared.ring().turns.begin(index);
  shared.worker(index).connections.set(0);
  shared.worker(index).tunnels.set(0);
  shared.worker(index).spool.bytes.set(0);
  shared.worker(index).spool.files.set(0);
  WorkerSetup setup;
  setup.index = index;
  for (const int fd : kept.listeners)
    setup.listeners.emplace_back(fd);
  setup.access_log.reset(kept.access_log);
  setup.member_listener.reset(kept.member_listener);
  setup.wake.reset(kept.wake);
  setup.event_channel = std::move(channel);
  setup.first_timestamp = wall_clock_micros();
  return run_worker(installation, std::move(setup), table, shared, log);
}

}  // namespace

Result<> start_worker(WorkerProcess& process, const Installation& installation,
                      const KeptFiles& kept, HistoryTable& table, const SharedState& shared,
                      Logger& log) {
  std::vector<int> files = kept.listeners;
  for (const int fd : {kept.member_listener, kept.access_log, kept.wake}) {
    if (fd >= 0) files.push_back(fd);
  }
  auto child = start_child(installation.settings, std::move(files), [&](UniqueFd channel) {
    return be_worker(process.index, std::move(channel), installation, kept, table, shared, log);
  });
  if (!child) return child.error();
  process.events = std::move(child->channel);
  process.pid = child->pid;
  process.state = WorkerState::running;
  process.started = std::chrono::steady_clock::now();
  return {};
}

void clear_gauges(const SharedState& shared, std::uint32_t index) {
  WorkerCounters& worker = shared.worker(index);
  worker.connections.set(0);
  worker.tunnels.set(0);
  worker.streams.set(0);
  worker.untaken_bytes.set(0);
  worker.arriving_bytes.set(0);
  worker.asking_bytes.set(0);
  worker.spool.bytes.set(0);
  worker.spool.files.set(0);
  for (OriginCounters& origin : shared.origins(index))
    origin.under_way.set(0);
}

}  // namespace prophecy::sketcher

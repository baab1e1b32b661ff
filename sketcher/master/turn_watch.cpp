#include "sketcher/master/turn_watch.hpp"

#include <csignal>

namespace prophecy::sketcher {

void TurnWatch::start(const WorkerTurns& turns) {
  timer_.expires_after(kLook);
  timer_.async_wait([this, turns](const boost::system::error_code& error) {
    if (error) return;
    look(turns);
    start(turns);
  });
}

void TurnWatch::look(const WorkerTurns& turns) {
  seen_.resize(workers_.size());
  for (const WorkerProcess& worker : workers_) {
    Seen& seen = seen_[worker.index];
    const std::uint64_t passed = turns.passed(worker.index);
    const bool is_stuck = worker.state == WorkerState::running && turns.is_behind(worker.index) &&
                          passed == seen.passed;
    seen = {.passed = passed, .looks_behind = is_stuck ? seen.looks_behind + 1 : 0};
    if (seen.looks_behind < kLooksMax) continue;
    log_.error("worker-hangs", {{"worker", worker.index}, {"pid", worker.pid}});
    ::kill(worker.pid, SIGKILL);
    seen.looks_behind = 0;
  }
}

}  // namespace prophecy::sketcher

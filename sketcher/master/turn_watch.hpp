// `TurnWatch` ends a worker that is stopped within a turn of its loop: it would hold up the
// partitions that move (R6 of docs/ring.md). Its lease holds up nobody.
//
// Looks are counted, not seconds: this process may have been stopped as well. Single-threaded, on
// the master's loop, which must not run any more once it is destroyed.
#pragma once

#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "sketcher/shared/worker_turns.hpp"
#include "sketcher/worker/worker_process.hpp"

namespace prophecy::sketcher {

class TurnWatch {
 public:
  // How often the turns are looked at, and how often in a row in vain.
  static constexpr Duration kLook = seconds(1);
  static constexpr int kLooksMax = 10;

  // All outlive it.
  TurnWatch(boost::asio::io_context& loop, const std::vector<WorkerProcess>& workers, Logger& log)
      : workers_(workers), log_(log), timer_(loop) {}

  void start(const WorkerTurns& turns);

 private:
  struct Seen {
    std::uint64_t passed = 0;  // by the worker, when it was looked at last
    int looks_behind = 0;
  };

  void look(const WorkerTurns& turns);

  const std::vector<WorkerProcess>& workers_;
  Logger& log_;
  boost::asio::steady_timer timer_;
  std::vector<Seen> seen_;  // by worker
};

}  // namespace prophecy::sketcher

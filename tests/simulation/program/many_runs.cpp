#include "simulation/program/many_runs.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <iostream>
#include <new>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>

#include "base/assert.hpp"
#include "simulation/program/child.hpp"
#include "simulation/world.hpp"

namespace prophecy::simulation {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kWorkersMax = 256;
constexpr auto kProgressEvery = std::chrono::seconds(5);
constexpr auto kPause = std::chrono::milliseconds(5);

// Shared by all processes.
struct Board {
  struct Worker {
    std::atomic<std::uint64_t> seed = 0;  // that it is at
    Coverage coverage;                    // its own, read when it has ended
  };

  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> done = 0;
  std::atomic<std::uint64_t> lowest_failed = UINT64_MAX;
  std::array<Worker, kWorkersMax> workers;

  void fail(std::uint64_t seed) {
    std::uint64_t lowest = lowest_failed;
    while (seed < lowest && !lowest_failed.compare_exchange_weak(lowest, seed)) {
    }
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class SharedBoard {
 public:
  SharedBoard()
      : memory_(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {
    ASSERT(memory_ != MAP_FAILED);
    board_ = new (memory_) Board;
  }
  ~SharedBoard() { munmap(memory_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board* operator->() { return board_; }
  Board& operator*() { return *board_; }

 private:
  void* memory_;
  Board* board_ = nullptr;
};

// Of this process: a busy neighbour changes no rate.
std::uint64_t processor_us() {
  timespec time{};
  ASSERT(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec) / 1000;
}

// Seeds are taken in their order, so whatever is below a failed one has been taken.
void work(const Options& options, Board& board, Board::Worker& worker) {
  for (;;) {
    const std::uint64_t seed = board.next.fetch_add(1);
    if (seed >= options.first + options.seeds || seed > board.lowest_failed) return;
    worker.seed = seed;
    set_watchdog();
    const Scenario scenario = options.scenario(seed);
    const std::uint64_t start = processor_us();
    RunResult result = World(scenario, false).run();
    const std::uint64_t took = processor_us() - start;
    if (scenario.is_long) {
      result.coverage.long_runs = 1;
      result.coverage.long_runs_ms = took / 1000;
    } else if (scenario.has_megabytes()) {
      result.coverage.large_runs = 1;
      result.coverage.large_runs_ms = took / 1000;
    } else {
      result.coverage.other_runs_us = took;
    }
    if (result.violation.empty()) {
      worker.coverage.add(result.coverage);
    } else {
      board.fail(seed);
    }
    ++board.done;
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

ManyRuns run_many(const Options& options) {
  const Clock::time_point start = Clock::now();
  SharedBoard board;
  board->next = options.first;
  std::vector<pid_t> children(options.jobs);
  const auto start_worker = [&](std::size_t index) {
    children[index] = start_child([&, index] { work(options, *board, board->workers.at(index)); });
  };
  for (std::size_t index = 0; index < children.size(); ++index)
    start_worker(index);

  Clock::time_point told = start;
  for (std::size_t left = children.size(); left > 0;) {
    for (std::size_t index = 0; index < children.size(); ++index) {
      int status = 0;
      if (children[index] == 0 || waitpid(children[index], &status, WNOHANG) == 0) continue;
      children[index] = 0;
      if (describe_end(status).empty()) {
        --left;
      } else {  // its run has crashed; seeds below it may still be waiting for a worker
        board->fail(board->workers.at(index).seed);
        start_worker(index);
      }
    }
    if (Clock::now() - told >= kProgressEvery) {
      told = Clock::now();
      const double rate = static_cast<double>(board->done) / seconds_since(start);
      std::cerr << board->done << " of " << options.seeds << " seeds, "
                << static_cast<std::uint64_t>(rate) << " a second\n";
    }
    std::this_thread::sleep_for(kPause);
  }

  ManyRuns runs;
  runs.elapsed_s = seconds_since(start);
  if (board->lowest_failed != UINT64_MAX) runs.failed = board->lowest_failed;
  for (const Board::Worker& worker : board->workers)
    runs.coverage.add(worker.coverage);
  return runs;
}

}  // namespace prophecy::simulation

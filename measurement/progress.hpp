// `Progress` shows on a terminal how much of a task is done, and how long the rest will take, once
// it takes longer than two seconds.
//
// For one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace prophecy::measurement {

// "[####----] 50 %, 12 s left". Requires `done` to be at most `all`, and `all` not to be 0.
[[nodiscard]] std::string progress_text(std::uint64_t done, std::uint64_t all,
                                        std::chrono::seconds elapsed);

class Progress {
 public:
  // `all`: bytes of all inputs, or answers to be written. Nothing is shown if standard error is no
  // terminal, or `all` is 0.
  explicit Progress(std::uint64_t all);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  std::uint64_t all_;
  bool is_terminal_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
  bool shown_ = false;
};

}  // namespace prophecy::measurement

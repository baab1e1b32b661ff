#include "measurement/progress.hpp"

#include <algorithm>
#include <iostream>

#include <unistd.h>

namespace prophecy::measurement {
namespace {

constexpr std::chrono::seconds kSilent{2};
constexpr std::chrono::milliseconds kBetween{200};
constexpr std::uint64_t kCells = 30;

}  // namespace

std::string progress_text(std::uint64_t done, std::uint64_t all, std::chrono::seconds elapsed) {
  const double share = static_cast<double>(done) / static_cast<double>(all);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kCells));
  std::string text = "[";
  text.append(filled, '#').append(kCells - filled, '-').append("] ");
  text.append(std::to_string(static_cast<int>(share * 100))).append(" %");
  if (done > 0) {
    const double left = static_cast<double>(elapsed.count()) * (1 - share) / share;
    text.append(", ").append(std::to_string(static_cast<std::uint64_t>(left))).append(" s left");
  }
  return text;
}

Progress::Progress(std::uint64_t all)
    : all_(all), is_terminal_(all > 0 && ::isatty(STDERR_FILENO) == 1), next_(begin_ + kSilent) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::update(std::uint64_t done) {
  if (!is_terminal_) return;
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + kBetween;
  shown_ = true;
  const auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - begin_);
  std::cerr << "\r\x1b[K" << progress_text(std::min(done, all_), all_, elapsed) << std::flush;
}

}  // namespace prophecy::measurement

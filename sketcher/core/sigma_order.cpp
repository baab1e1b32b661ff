#include "sketcher/core/sigma_order.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

Sigma beyond(Sigma sigma) {
  return std::min(sigma, kSigmaMax - 1) + 1;
}

}  // namespace

SigmaOrder::Submitted SigmaOrder::submit() const {
  // The base first: it may be older than `newest`, never newer.
  const Sigma base = base_.load();
  return {base, newest_.load()};
}

SigmaOrder::Placed SigmaOrder::place(const Submitted& submitted, Sigma sigma) {
  Placed placed;
  Sigma base = base_.load();
  const bool was_moved = base != submitted.base;
  const bool shows_restart = !was_moved && base + sigma <= submitted.newest;
  placed.doubtful = was_moved || shows_restart;
  if (shows_restart) {
    // Whoever comes first moves the base; the others find it moved.
    placed.restarted = base_.compare_exchange_strong(base, beyond(newest_.load()));
    if (placed.restarted) base = base_.load();
  }
  placed.sigma = std::min(base + sigma, kSigmaMax);
  placed.base = base;
  Sigma newest = newest_.load();
  while (newest < placed.sigma && !newest_.compare_exchange_weak(newest, placed.sigma)) {
  }
  // Moved just now: what was placed by the new base may lie below `newest`, or above it.
  const bool is_moved = base_.load() != base;
  placed.doubtful = placed.doubtful || is_moved || base + sigma > kSigmaMax;
  return placed;
}

Sigma SigmaOrder::newest() const {
  return std::max(base_.load(), newest_.load());
}

void SigmaOrder::begin_beyond(Sigma sigma) {
  Sigma base = base_.load();
  while (!base_.compare_exchange_weak(base, beyond(std::max({newest_.load(), base, sigma})))) {
  }
}

}  // namespace prophecy::sketcher

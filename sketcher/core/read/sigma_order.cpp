#include "sketcher/core/read/sigma_order.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

Sigma beyond(Sigma sigma) {
  return std::min(sigma, kSigmaMax - 1) + 1;
}

// Beside a base: it is about to move.
constexpr Sigma kMoves = Sigma{1} << 63;
static_assert(kSigmaMax < kMoves);

}  // namespace

// Two steps, so that nothing is placed meanwhile that the next base does not lie beyond: whoever
// has seen no first step behind its own answer has raised `newest_` before it. Anybody takes the
// second one, should who took the first be killed.
Sigma SigmaOrder::settled_base() {
  Sigma base = base_.load();
  while ((base & kMoves) != 0) {
    const Sigma next = beyond(std::max(newest_.load(), base & ~kMoves));
    if (base_.compare_exchange_strong(base, next)) return next;
  }
  return base;
}

void SigmaOrder::raise_newest(Sigma sigma) {
  Sigma newest = newest_.load();
  while (newest < sigma && !newest_.compare_exchange_weak(newest, sigma)) {
  }
}

SigmaOrder::Submitted SigmaOrder::submit() {
  // The base first: it may be older than `newest`, never newer.
  const Sigma base = settled_base();
  return {base, newest_.load()};
}

SigmaOrder::Placed SigmaOrder::place(const Submitted& submitted, Sigma sigma) {
  Placed placed;
  Sigma base = settled_base();
  const bool was_moved = base != submitted.base;
  const bool shows_restart = !was_moved && base + sigma <= submitted.newest;
  placed.doubtful = was_moved || shows_restart;
  if (shows_restart) {
    // Whoever comes first moves the base; the others find it moved.
    placed.restarted = base_.compare_exchange_strong(base, base | kMoves);
    base = settled_base();
  }
  placed.sigma = std::min(base + sigma, kSigmaMax);
  placed.base = base;
  raise_newest(placed.sigma);
  // Moved just now: what was placed by the new base may lie below `newest`, or above it.
  const bool is_moved = base_.load() != base;
  placed.doubtful = placed.doubtful || is_moved || base + sigma > kSigmaMax;
  return placed;
}

// The two members may have seen the group begin anew at different times, so their bases differ. The
// group's own number of the answer is the same for both.
void SigmaOrder::note(const Placed& elsewhere) {
  const Sigma number = elsewhere.sigma - std::min(elsewhere.base, elsewhere.sigma);
  raise_newest(std::min(std::max(elsewhere.sigma, settled_base() + number), kSigmaMax));
}

Sigma SigmaOrder::newest() const {
  return std::max(base_.load() & ~kMoves, newest_.load());
}

void SigmaOrder::begin_beyond(Sigma sigma) {
  const Sigma reached = std::min(sigma, kSigmaMax - 1);
  raise_newest(reached);
  // More than once only if another moved it meanwhile, and had looked at `newest_` before.
  do {
    base_.fetch_or(kMoves);
  } while (settled_base() <= reached);
}

}  // namespace prophecy::sketcher

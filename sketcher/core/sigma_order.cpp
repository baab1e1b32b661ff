#include "sketcher/core/sigma_order.hpp"

namespace prophecy::sketcher {

SigmaOrder::Submitted SigmaOrder::submit() const {
  // The base first: it may be older than `newest`, never newer.
  const Sigma base = base_.load();
  return {base, newest_.load()};
}

SigmaOrder::Placed SigmaOrder::place(const Submitted& submitted, Sigma sigma) {
  Placed placed;
  Sigma base = base_.load();
  if (base != submitted.base) {
    placed.doubtful = true;
  } else if (base + sigma <= submitted.newest) {
    // Whoever comes first moves the base; the others find it moved.
    placed.restarted = base_.compare_exchange_strong(base, newest_.load() + 1);
    if (placed.restarted) base = base_.load();
  }
  placed.sigma = base + sigma;
  Sigma newest = newest_.load();
  while (newest < placed.sigma && !newest_.compare_exchange_weak(newest, placed.sigma)) {
  }
  return placed;
}

}  // namespace prophecy::sketcher

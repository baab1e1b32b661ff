#include "sketcher/core/read/sigma_clock.hpp"

#include <algorithm>

namespace prophecy::sketcher {

void SigmaClock::sample(std::uint64_t now_ms, Sigma newest) {
  if (!points_.empty() && points_.back().sigma >= newest) {
    points_.back().last_ms = now_ms;
    return;
  }
  if (points_.size() == kPointsMax) thin_out(now_ms);
  points_.push_back({newest, now_ms, now_ms});
}

std::optional<SigmaClock::Age> SigmaClock::age_of(Sigma sigma, std::uint64_t now_ms) const {
  if (points_.empty()) return std::nullopt;
  // It came after the last sample that was below it, and before the first one that was not.
  const auto reached =
      std::lower_bound(points_.begin(), points_.end(), sigma,
                       [](const Point& point, Sigma wanted) { return point.sigma < wanted; });
  Age age;
  if (reached != points_.end()) age.at_least_ms = now_ms - reached->first_ms;
  if (reached != points_.begin()) age.at_most_ms = now_ms - std::prev(reached)->last_ms;
  return age;
}

// Leaves out each point whose neighbours are as close to each other as its age allows.
void SigmaClock::thin_out(std::uint64_t now_ms) {
  std::size_t kept = 1;  // the oldest one stays
  for (std::size_t i = 1; i + 1 < points_.size(); ++i) {
    const std::uint64_t gap_ms = points_[i + 1].first_ms - points_[kept - 1].last_ms;
    const auto age_ms = static_cast<double>(now_ms - points_[i + 1].first_ms);
    if (static_cast<double>(gap_ms) > kResolution * age_ms) points_[kept++] = points_[i];
  }
  points_[kept++] = points_.back();
  points_.resize(kept);
  // Some thousand years of samples, or a clock that jumped: what is oldest goes.
  if (kept > kPointsMax / 2) points_.erase(points_.begin(), points_.end() - kPointsMax / 2);
}

}  // namespace prophecy::sketcher

#include "simulation/lies.hpp"

namespace prophecy::simulation {

void Lies::note(const pbft::Frame& frame, BehaviourKind kind) {
  if (kind < kFirstLie || !kinds_.emplace(frame.get(), kind).second) return;
  newest_.push_back(frame);
  if (newest_.size() <= kRemembered) return;
  kinds_.erase(newest_.front().get());
  newest_.pop_front();
}

std::optional<BehaviourKind> Lies::kind_of(const pbft::Frame& frame) const {
  const auto found = kinds_.find(frame.get());
  return found != kinds_.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace prophecy::simulation

#include "dht/core/fence.hpp"

#include <algorithm>

#include "dht/core/mutation.hpp"

namespace prophecy::dht {

Span outlast(Span span, const ClockBounds& bounds) {
  // The holder's clock may be slow by the drift, and ours fast: span * (1 + drift) / (1 - drift),
  // rounded up.
  if (is_mutated(Mutation::fence_ignores_drift)) return span;
  constexpr Span::rep kMillion = 1'000'000;
  const Span::rep drift = bounds.drift_ppm;
  const Span::rep extra = (span.count() / (kMillion - drift) + 1) * 2 * drift;
  return span + Span(extra) + bounds.grain;
}

Fence::Fence(const View& view, BootTime known, const Holder& self, std::size_t partitions,
             const ClockBounds& bounds)
    : view_(view),
      known_(known),
      self_(self),
      history_wait_(outlast(view.parameters.lease, bounds)),
      group_wait_(outlast(view.parameters.lease + view.parameters.group_only, bounds)) {
  for (const FormerView& former : view_.former)
    placements_.push_back(place(former.holders, partitions));
}

Fence::FormerHolders Fence::former_holders(Partition partition) const {
  if (!view_.is_former_complete) return std::nullopt;
  std::vector<FormerHolder> found;
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    const FormerView& former = view_.former[i];
    const Holder& holder = former.holders[placements_[i].owner(partition)];
    if (holder.name == self_.name && holder.instance == self_.instance) continue;
    const auto known = std::find_if(found.begin(), found.end(), [&](const FormerHolder& other) {
      return other.name == holder.name && other.instance == holder.instance;
    });
    if (known != found.end()) {
      known->last = former.number;
    } else {
      found.push_back({holder.name, holder.instance, former.number});
    }
  }
  return found;
}

bool Fence::was_ours_since(Partition partition, ViewNumber since) const {
  if (since >= view_.number) return since == view_.number;
  if (view_.former.empty() || view_.former.front().number > since + 1) return false;
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    const FormerView& former = view_.former[i];
    if (former.number < since) continue;
    const Holder& holder = former.holders[placements_[i].owner(partition)];
    if (holder.name != self_.name || holder.instance != self_.instance) return false;
  }
  return true;
}

const Holder* Fence::last_holder(Partition partition) const {
  if (view_.former.empty()) return nullptr;
  return &view_.former.back().holders[placements_.back().owner(partition)];
}

BootTime Fence::stopped(const FormerHolder& holder, const Sightings& sightings, Span wait) const {
  const auto found = sightings.find(holder.name);
  if (found == sightings.end()) return known_ + wait;
  const Sighting& sighting = found->second;
  // It has adopted a view that gives the partition to somebody else.
  const bool is_its_own =
      sighting.record.instance == holder.instance || is_mutated(Mutation::fence_by_name);
  const bool has_confirmed = is_its_own && sighting.record.view > holder.last;
  if (has_confirmed) return BootTime::min();
  const bool is_certified = sighting.certified > holder.last;
  return std::min(known_, is_certified ? sighting.seen : known_) + wait;
}

BootTime Fence::stopped(const FormerHolders& holders, const Sightings& sightings,
                        bool entirely) const {
  const Span wait = entirely ? group_wait_ : history_wait_;
  if (!holders) return known_ + wait;
  BootTime latest = BootTime::min();
  for (const FormerHolder& holder : *holders)
    latest = std::max(latest, stopped(holder, sightings, wait));
  return latest;
}

bool Fence::waits_for_renewal(const FormerHolder& holder, const Sightings& sightings) const {
  const auto found = sightings.find(holder.name);
  return found != sightings.end() && found->second.certified < view_.number &&
         stopped(holder, sightings, history_wait_) > known_;
}

}  // namespace prophecy::dht

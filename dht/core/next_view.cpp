#include "dht/core/next_view.hpp"

#include <algorithm>

namespace prophecy::dht {

bool is_settled(const View& view, const Sightings& sightings) {
  return std::all_of(view.members.begin(), view.members.end(), [&](const Member& member) {
    const auto found = sightings.find(member.holder.name);
    return found != sightings.end() && found->second.record.instance == member.holder.instance &&
           found->second.record.settled >= view.number;
  });
}

std::optional<View> next_view(const View* newest, const Parameters& parameters,
                              const Announced& announced, const Sightings& sightings,
                              ViewNumber first) {
  if (announced.empty()) return std::nullopt;
  View next{.number = first, .parameters = parameters, .members = {}, .former = {}};
  for (const auto& [name, member] : announced) {
    if (next.members.size() < kMembersMax) next.members.push_back(member);
  }
  // Somebody has to own the partitions.
  if (!has_weight(holders_of(next))) return std::nullopt;
  if (newest == nullptr) return next;
  if (newest->members == next.members || newest->number == kViewNumberMax) return std::nullopt;
  next.number = newest->number + 1;
  if (!is_settled(*newest, sightings)) {
    next.former = newest->former;
    next.is_former_complete = newest->is_former_complete;
  }
  next.former.push_back({newest->number, holders_of(*newest)});
  if (next.former.size() > kFormerViewsMax) {
    next.former.erase(next.former.begin());
    next.is_former_complete = false;
  }
  return next;
}

}  // namespace prophecy::dht

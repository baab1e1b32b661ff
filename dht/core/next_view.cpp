#include "dht/core/next_view.hpp"

#include <algorithm>
#include <utility>

#include "dht/core/mutation.hpp"

namespace prophecy::dht {

bool is_settled(const View& view, const Sightings& sightings) {
  return std::all_of(view.members.begin(), view.members.end(), [&](const Member& member) {
    const auto found = sightings.find(member.holder.name);
    return found != sightings.end() && found->second.record.instance == member.holder.instance &&
           found->second.record.settled >= view.number;
  });
}

namespace {

// In the same life.
bool is_among(const View* view, const Member& member) {
  const Member* const found = view != nullptr ? find_member(*view, member.holder.name) : nullptr;
  return found != nullptr && found->holder.instance == member.holder.instance;
}

Step newest_of_any(const std::vector<Member>& members) {
  Step newest = 1;
  for (const Member& member : members)
    newest = std::max(newest, member.steps.newest);
  return newest;
}

// The processes that can be members together, by name. Present members stay; others are added as
// far as they share a step with all before them.
std::vector<Member> choose_members(const View* newest, const Announced& announced, Step& step) {
  std::vector<Member> chosen;
  std::optional<Steps> shared;
  for (const bool are_members : {true, false}) {
    for (const auto& [name, member] : announced) {
      if (is_among(newest, member) != are_members || chosen.size() == kMembersMax) continue;
      const auto with = shared ? shared->shared_with(member.steps) : std::optional(member.steps);
      if (!with) continue;
      shared = with;
      chosen.push_back(member);
    }
  }
  if (shared) step = is_mutated(Mutation::newest_step) ? newest_of_any(chosen) : shared->newest;
  std::sort(chosen.begin(), chosen.end(),
            [](const Member& a, const Member& b) { return a.holder.name < b.holder.name; });
  return chosen;
}

}  // namespace

std::optional<View> next_view(const View* newest, const Parameters& parameters,
                              const Announced& announced, const Sightings& sightings,
                              ViewNumber first) {
  if (announced.empty()) return std::nullopt;
  View next{.number = first, .parameters = parameters, .members = {}, .former = {}};
  next.members = choose_members(newest, announced, next.step);
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

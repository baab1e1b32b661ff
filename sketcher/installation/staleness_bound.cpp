#include "sketcher/installation/staleness_bound.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "replica_client/core/health/origin_weights.hpp"

namespace prophecy::sketcher {

replica_client::HealthRules health_rules(const GroupSettings& group,
                                         const GroupInstallation& installation) {
  const std::uint32_t faults = installation.pbft ? installation.pbft->group.faults : group.faults;
  replica_client::HealthRules rules = group.health.rules;
  // Fewer would not always have a correct one among them.
  rules.drawable_min = std::max(rules.drawable_min, faults + 1);
  rules.faults = faults;
  return rules;
}

std::vector<std::string> staleness_bounds(const Installation& installation) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < installation.groups.size(); ++i) {
    const GroupSettings& group = installation.settings.groups[i];
    const replica_client::HealthRules rules = health_rules(group, installation.groups[i]);
    std::vector<std::uint32_t> weights;
    for (const OriginAddress& origin : group.origins)
      weights.push_back(origin.weight);
    const auto drawn_min = std::min(rules.drawable_min, static_cast<std::uint32_t>(weights.size()));
    lines.push_back(fmt::format(
        "group \"{}\": {} faulty of {} origins, by their weights, keep k reads in a row stale with "
        "probability {:.3f}^k at most; {:.3f}^k while {} origins are in the draw{}",
        group.name, rules.faults, weights.size(),
        replica_client::largest_share(weights, rules.faults),
        replica_client::largest_share_ever(weights, rules.faults, drawn_min,
                                           rules.slow_start > Duration{}),
        drawn_min, rules.slow_start > Duration{} ? " and the correct ones start slowly" : ""));
  }
  return lines;
}

}  // namespace prophecy::sketcher

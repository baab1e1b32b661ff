#include "consistency/wanted.hpp"

namespace prophecy::consistency {
namespace {

constexpr std::uint64_t kPublishPercent = 7;
constexpr std::uint64_t kAuditPercent = 4;
constexpr std::uint64_t kModePercent = 30;

}  // namespace

Wanted Wanted::plain_read(const RunSettings& settings, simulation::Random& random) {
  Wanted wanted;
  wanted.key = random.below(settings.keys);
  wanted.target = "/" + std::to_string(wanted.key);
  return wanted;
}

Wanted Wanted::flood(simulation::Random& random) {
  Wanted wanted;
  wanted.page = Page::other;
  wanted.target = "/other?" + std::to_string(random.below(1'000'000));
  wanted.mode = sketcher::RouteMode::observe;
  return wanted;
}

Wanted Wanted::draw(const RunSettings& settings, simulation::Random& random) {
  if (settings.is_flooded && random.chance(98)) return flood(random);
  Wanted wanted = plain_read(settings, random);
  wanted.listed = settings.listed[wanted.key];
  if (settings.is_noisy && random.chance(50)) {
    wanted.page = static_cast<Page>(random.between(1, kPageTargets.size() - 1));
    wanted.target = kPageTargets[static_cast<std::size_t>(wanted.page)];
    wanted.listed = Mark::none;
  } else {
    const std::uint64_t draw = random.below(100);
    const bool writes = draw < kPublishPercent && !settings.has_budget;
    // A group without an order has no place for an audit.
    const bool audits = draw >= kPublishPercent && draw < kPublishPercent + kAuditPercent &&
                        !settings.has_votes && wanted.listed == Mark::none;
    wanted.kind = writes ? Kind::publish : audits ? Kind::audit : Kind::read;
    if (audits) wanted.reads = sketcher::Reads::replicated;
    wanted.is_head = !writes && settings.has_heads && random.chance(40);
  }
  if (settings.has_modes && wanted.kind == Kind::read && random.chance(kModePercent)) {
    wanted.mode = random.chance(50) ? sketcher::RouteMode::observe : sketcher::RouteMode::off;
    const bool is_streamed = wanted.mode == sketcher::RouteMode::off && random.chance(40);
    if (is_streamed) wanted.mode = sketcher::RouteMode::stream;
  }
  return wanted;
}

}  // namespace prophecy::consistency

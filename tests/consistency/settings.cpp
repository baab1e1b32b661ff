#include "consistency/settings.hpp"

#include <algorithm>

namespace prophecy::consistency {
namespace {

// Shares of the runs.
constexpr std::uint64_t kBusyPercent = 20;
constexpr std::uint64_t kNoisyPercent = 40;
constexpr std::uint64_t kVotesPercent = 35;
constexpr std::uint64_t kThreeVotesPercent = 30;  // of those with votes
constexpr std::uint64_t kSevenPercent = 8;
constexpr std::uint64_t kHedgesPercent = 25;
constexpr std::uint64_t kBlocksPercent = 20;
constexpr std::uint64_t kHeadsPercent = 15;
constexpr std::uint64_t kModesPercent = 25;
constexpr std::uint64_t kListedPercent = 8;
constexpr std::uint64_t kBudgetPercent = 10;
constexpr std::uint64_t kFewCallsPercent = 10;
constexpr std::uint64_t kSlowConfirmationsPercent = 6;
constexpr std::uint64_t kOutagesPercent = 10;
constexpr std::uint64_t kClockStepsPercent = 15;
constexpr std::uint64_t kFewAddressesPercent = 25;
constexpr std::uint64_t kAccomplicePercent = 15;
constexpr std::uint64_t kWeightsPercent = 20;
constexpr std::uint64_t kRingPercent = 20;          // of those that may have one
constexpr std::uint64_t kCountsItselfPercent = 40;  // of rings in front of a group with an order
constexpr std::uint64_t kPipeliningPercent = 35;
constexpr std::uint64_t kMixedPagesPercent = 10;
constexpr std::uint64_t kTriedPercent = 25;
constexpr std::uint64_t kLongPermille = 8;
constexpr std::uint64_t kFloodedPermille = 4;
constexpr std::uint64_t kAgentsPermille = 20;  // of those with an order
constexpr std::uint64_t kShortDeadlinesPercent = 20;
constexpr std::uint64_t kBadAgentPercent = 25;
constexpr std::uint64_t kAheadPercent = 40;  // where correct origins may be in different states

}  // namespace

std::size_t RunSettings::strong() const {
  return std::max(origins - faults, 2 * faults + 1);
}

std::string RunSettings::describe() const {
  std::string text = std::to_string(origins) + " origins, " + std::to_string(keys) + " keys";
  const auto add = [&](bool has, const char* name) {
    if (has) text += std::string(", ") + name;
  };
  add(has_votes, "votes");
  add(has_agents, "PBFT");
  add(has_short_deadlines, "short deadlines");
  add(executes_ahead, "executes ahead");
  add(has_bad_agent, "bad agent");
  add(is_busy, "busy");
  add(is_noisy, "noise");
  add(has_hedges, "hedges");
  add(has_blocks, "blocks");
  add(has_heads, "HEAD");
  add(has_modes, "modes");
  add(has_budget, "budget");
  add(has_few_calls, "few calls");
  add(has_slow_confirmations, "slow confirmations");
  add(has_outages, "outages");
  add(has_clock_steps, "clock steps");
  add(has_few_addresses, "one address");
  add(has_accomplice, "accomplice");
  add(has_weights, "weights");
  add(has_ring, "ring");
  add(counts_itself, "members count for themselves");
  add(has_pipelining, "pipelining");
  add(has_mixed_pages, "mixed pages");
  add(is_tried, "trial");
  add(is_long, "long");
  add(is_flooded, "flood");
  add(std::count(listed.begin(), listed.end(), Mark::none) <
          static_cast<std::ptrdiff_t>(listed.size()),
      "lists");
  return text;
}

// From a stream of its own: no other draw depends on it.
void RunSettings::choose_group(GroupChoice choice, simulation::Random random) {
  simulation::Random own(random.next(), simulation::kPurposeMachines);
  if (is_of_simulated_group(variant.world) || choice == GroupChoice::simulated) return;
  if (is_of_real_group(variant.world) || choice == GroupChoice::pbft) {
    has_votes = is_flooded = false;
    if (origins == 3) origins = 4;
    has_agents = true;
  } else {
    has_agents = !has_votes && !is_flooded && own.below(1000) < kAgentsPermille;
  }
  if (!has_agents) return;
  is_long = false;  // its calls take long, and too many overlap to be decided
  has_short_deadlines = own.chance(kShortDeadlinesPercent);
  executes_ahead = own.chance(kAheadPercent) && has_lag() && !is_busy;
  has_bad_agent = own.chance(kBadAgentPercent);
  // Else each call of a trial is answered, and the liar votes.
  is_tried = is_tried && !has_short_deadlines && !has_few_calls && !has_bad_agent;
}

// Likewise. (Without an order, members count for themselves.)
void RunSettings::choose_ring(simulation::Random random) {
  simulation::Random own(random.next(), simulation::kPurposeScene);
  const bool is_forced = is_of_ring(variant.mutation);
  const bool is_drawn = own.chance(kRingPercent);
  if (is_forced) has_votes = has_agents = is_flooded = is_busy = false;
  has_ring = is_forced || (is_drawn && variant.world == BrokenWorld::none && !has_agents &&
                           !is_flooded && !is_busy);
  if (has_ring) is_tried = is_long = false;
  counts_itself = has_ring && (has_votes || own.chance(kCountsItselfPercent));
}

// Likewise.
void RunSettings::choose_weights(simulation::Random random) {
  simulation::Random own(random.next(), simulation::kPurposeWeights);
  has_weights = own.chance(kWeightsPercent) || variant.mutation == sketcher::Mutation::draws_anyone;
}

// Likewise. (Bodies in blocks do not share connections.)
void RunSettings::choose_pipelining(simulation::Random random) {
  simulation::Random own(random.next(), simulation::kPurposeFairness);
  const bool is_forced = is_of_pipelining(variant.mutation);
  const bool is_drawn = own.chance(kPipeliningPercent) &&
                        variant.mutation == sketcher::Mutation::none &&
                        variant.world == BrokenWorld::none;
  has_pipelining = is_forced || is_drawn;
  shares_always = own.chance(50);
  has_mixed_pages =
      own.chance(kMixedPagesPercent) || variant.mutation == sketcher::Mutation::follows_any;
}

RunSettings RunSettings::draw(const Variant& variant, GroupChoice choice,
                              simulation::Random& random) {
  using sketcher::Mutation;
  RunSettings settings;
  settings.variant = variant;
  settings.keys =
      variant.world == BrokenWorld::shared_key ? 2 : static_cast<std::size_t>(random.between(1, 2));
  settings.has_votes = random.chance(kVotesPercent) ||
                       variant.world == BrokenWorld::votes_numbered_early ||
                       variant.mutation == Mutation::vote_ignores_floor;
  if (settings.has_votes && random.chance(kThreeVotesPercent)) settings.origins = 3;
  if (random.chance(kSevenPercent)) {
    settings.origins = 7;
    settings.faults = 2;
  }
  settings.is_busy = random.chance(kBusyPercent) || variant.world == BrokenWorld::evicted_unnoticed;
  settings.is_noisy = random.chance(kNoisyPercent);
  settings.has_hedges = random.chance(kHedgesPercent);
  settings.has_blocks = random.chance(kBlocksPercent);
  settings.has_heads = random.chance(kHeadsPercent);
  settings.has_modes = random.chance(kModesPercent);
  settings.has_budget = random.chance(kBudgetPercent);
  settings.has_few_calls = random.chance(kFewCallsPercent);
  settings.has_slow_confirmations = random.chance(kSlowConfirmationsPercent);
  settings.has_outages = random.chance(kOutagesPercent);
  settings.has_clock_steps = random.chance(kClockStepsPercent);
  settings.has_few_addresses = random.chance(kFewAddressesPercent);
  settings.has_accomplice = random.chance(kAccomplicePercent);
  settings.is_tried = random.chance(kTriedPercent);
  const std::uint64_t draw = random.below(1000);
  settings.is_flooded = draw < kFloodedPermille;
  settings.is_long = !settings.is_flooded && draw < kFloodedPermille + kLongPermille;
  settings.has_modes = settings.has_modes || settings.is_flooded;
  for (Key key = 0; key < settings.keys; ++key) {
    const bool is_listed = random.chance(kListedPercent);
    settings.listed.push_back(!is_listed          ? Mark::none
                              : random.chance(50) ? Mark::blacklisted
                                                  : Mark::whitelisted);
  }
  settings.choose_group(choice, random);
  settings.choose_ring(random);
  settings.choose_weights(random);
  settings.choose_pipelining(random);
  return settings;
}

}  // namespace prophecy::consistency

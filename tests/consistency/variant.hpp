// Ways to break the read path, or the world around it, that an oracle of the simulation has to
// find.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sketcher/core/read/mutation.hpp"

namespace prophecy::consistency {

// Broken worlds; broken code is a sketcher::Mutation.
enum class BrokenWorld : std::uint8_t {
  none,
  update_ignores_sigma,  // the answer that comes last has the greatest number
  shared_key,            // all registers have one entry
  votes_numbered_early,  // a vote's number says when the group was asked
  write_answered_early,  // the group acknowledges writes that are not ordered yet
  evicted_unnoticed,     // an evicted entry leaves no floor in its bucket
  cookies_remembered,    // answers that set a cookie may be remembered
  // Of a real group alone, all below.
  group_by_arrival,    // its answers are numbered as they come, not by their place in its order
  group_strong_early,  // f+1 equal replies are taken for those of n - f
  group_misnamed,      // a refuted vote is said to be of the newest call
  group_write_lost,    // a correct origin loses writes
};

// The names of the oracles: what each finds begins with it.
constexpr std::string_view kDelayOnce = "delay-once";
constexpr std::string_view kAttribution = "attribution";
constexpr std::string_view kAccusation = "accusation";
constexpr std::string_view kCost = "cost";
constexpr std::string_view kService = "service";
constexpr std::string_view kGroup = "group";
constexpr std::string_view kDraw = "draw";

struct Variant {
  std::string_view name;
  std::string_view oracle{};  // that has to find it
  sketcher::Mutation mutation = sketcher::Mutation::none;
  BrokenWorld world = BrokenWorld::none;
};

inline constexpr std::array<Variant, 46> kVariants{{
    {"correct"},
    {"one-lookup", kDelayOnce, sketcher::Mutation::one_lookup},
    {"any-former", kDelayOnce, sketcher::Mutation::any_former},
    {"outdated-for-late", kDelayOnce, sketcher::Mutation::outdated_for_late},
    {"no-floors", kDelayOnce, sketcher::Mutation::no_floors},
    {"floor-at-first-only", kDelayOnce, sketcher::Mutation::floor_at_first_only},
    {"join-ignores-floor", kDelayOnce, sketcher::Mutation::join_ignores_floor},
    {"vote-ignores-floor", kDelayOnce, sketcher::Mutation::vote_ignores_floor},
    {"unsketchable-ignored", kDelayOnce, sketcher::Mutation::unsketchable_ignored},
    {"update-ignores-sigma", kDelayOnce, sketcher::Mutation::none,
     BrokenWorld::update_ignores_sigma},
    {"shared-key", kDelayOnce, sketcher::Mutation::none, BrokenWorld::shared_key},
    {"votes-numbered-early", kDelayOnce, sketcher::Mutation::none,
     BrokenWorld::votes_numbered_early},
    {"write-answered-early", kDelayOnce, sketcher::Mutation::none,
     BrokenWorld::write_answered_early},
    {"evicted-unnoticed", kDelayOnce, sketcher::Mutation::none, BrokenWorld::evicted_unnoticed},
    {"group-by-arrival", kDelayOnce, sketcher::Mutation::none, BrokenWorld::group_by_arrival},
    {"look-up-unchecked", kDelayOnce, sketcher::Mutation::look_up_unchecked},
    {"record-unchecked", kDelayOnce, sketcher::Mutation::record_unchecked},
    {"write-unchecked", kDelayOnce, sketcher::Mutation::write_unchecked},
    {"private-for-late", kAttribution, sketcher::Mutation::private_for_late},
    {"real-to-group", kAttribution, sketcher::Mutation::real_to_group},
    {"block-unchecked", kAttribution, sketcher::Mutation::block_unchecked},
    {"late-for-next", kAttribution, sketcher::Mutation::late_for_next},
    {"unverified-tagged", kAttribution, sketcher::Mutation::unverified_tagged},
    {"cookies-remembered", kAttribution, sketcher::Mutation::none, BrokenWorld::cookies_remembered},
    {"weak-accuses", kAccusation, sketcher::Mutation::weak_accuses},
    {"noise-accuses", kAccusation, sketcher::Mutation::noise_accuses},
    {"exceptions-accuse", kAccusation, sketcher::Mutation::exceptions_accuse},
    {"busy-accuses", kAccusation, sketcher::Mutation::busy_accuses},
    {"never-accuses", kAccusation, sketcher::Mutation::never_accuses},
    {"blocks-not-confirmed", kAccusation, sketcher::Mutation::blocks_not_confirmed},
    {"group-strong-early", kAccusation, sketcher::Mutation::none, BrokenWorld::group_strong_early},
    {"hedges-unpaid", kCost, sketcher::Mutation::hedges_unpaid},
    {"asks-without-bound", kCost, sketcher::Mutation::asks_without_bound},
    {"budget-ignored", kCost, sketcher::Mutation::budget_ignored},
    {"confirms-without-bound", kCost, sketcher::Mutation::confirms_without_bound},
    {"unwaited-without-bound", kCost, sketcher::Mutation::unwaited_without_bound},
    {"delayed-again", kCost, sketcher::Mutation::delayed_again},
    {"follows-any", kCost, sketcher::Mutation::follows_any},
    {"pause-forgotten", kCost, sketcher::Mutation::pause_forgotten},
    {"no-failover", kService, sketcher::Mutation::no_failover},
    {"no-switch", kService, sketcher::Mutation::no_switch},
    {"result-lost", kService, sketcher::Mutation::result_lost},
    {"hedge-lost", kService, sketcher::Mutation::hedge_lost},
    {"draws-anyone", kDraw, sketcher::Mutation::draws_anyone},
    {"group-misnamed", kGroup, sketcher::Mutation::none, BrokenWorld::group_misnamed},
    {"group-write-lost", kGroup, sketcher::Mutation::none, BrokenWorld::group_write_lost},
}};

// The simulated group is broken, or the real one is.
[[nodiscard]] constexpr bool is_of_simulated_group(BrokenWorld world) {
  return world == BrokenWorld::update_ignores_sigma || world == BrokenWorld::votes_numbered_early ||
         world == BrokenWorld::write_answered_early;
}
[[nodiscard]] constexpr bool is_of_real_group(BrokenWorld world) {
  return world >= BrokenWorld::group_by_arrival;
}

// The defect shows where there are several members alone.
[[nodiscard]] constexpr bool is_of_ring(sketcher::Mutation mutation) {
  return mutation >= sketcher::Mutation::look_up_unchecked;
}

// The defect shows where reads share connections alone.
[[nodiscard]] constexpr bool is_of_pipelining(sketcher::Mutation mutation) {
  return mutation == sketcher::Mutation::late_for_next ||
         mutation == sketcher::Mutation::delayed_again;
}

[[nodiscard]] inline std::optional<Variant> parse_variant(std::string_view name) {
  for (const Variant& variant : kVariants) {
    if (variant.name == name) return variant;
  }
  return std::nullopt;
}

}  // namespace prophecy::consistency

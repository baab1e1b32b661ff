// Ways to break the sketcher, or the group behind it, that the checker has to find.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace prophecy::consistency {

enum class Variant : std::uint8_t {
  correct,
  one_lookup,            // a fast answer is compared with what the table held when it was asked for
  update_ignores_sigma,  // the answer that comes last is taken for the newest
  shared_key,            // all keys have one entry
  any_former,            // what the table ever held validates
  outdated_for_late,     // a read that has joined another one gets its answer, newer ones or not
  votes_numbered_early,  // a vote's number says when it was asked for
  write_answered_early,  // a group acknowledges writes that are not ordered yet
  no_floors,             // a write makes nothing out of date
  floor_at_first_only,   // what is out of date by the second look-up validates
  join_ignores_floor,    // reads share what was begun before another worker's write was answered
  vote_ignores_floor,    // a vote is recorded though it was asked for before a write was answered
  unsketchable_ignored,  // what was agreed before an answer without a sketch goes on to validate
  evicted_unnoticed,     // what is evicted leaves no floor in its buckets
};

struct VariantName {
  Variant variant;
  std::string_view name;
};
constexpr std::array<VariantName, 14> kVariantNames{{
    {Variant::correct, "correct"},
    {Variant::one_lookup, "one-lookup"},
    {Variant::update_ignores_sigma, "update-ignores-sigma"},
    {Variant::shared_key, "shared-key"},
    {Variant::any_former, "any-former"},
    {Variant::outdated_for_late, "outdated-for-late"},
    {Variant::votes_numbered_early, "votes-numbered-early"},
    {Variant::write_answered_early, "write-answered-early"},
    {Variant::no_floors, "no-floors"},
    {Variant::floor_at_first_only, "floor-at-first-only"},
    {Variant::join_ignores_floor, "join-ignores-floor"},
    {Variant::vote_ignores_floor, "vote-ignores-floor"},
    {Variant::unsketchable_ignored, "unsketchable-ignored"},
    {Variant::evicted_unnoticed, "evicted-unnoticed"},
}};

constexpr std::optional<Variant> parse_variant(std::string_view name) {
  for (const VariantName& known : kVariantNames) {
    if (known.name == name) return known.variant;
  }
  return std::nullopt;
}

}  // namespace prophecy::consistency

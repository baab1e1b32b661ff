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
};

struct VariantName {
  Variant variant;
  std::string_view name;
};
constexpr std::array<VariantName, 8> kVariantNames{{
    {Variant::correct, "correct"},
    {Variant::one_lookup, "one-lookup"},
    {Variant::update_ignores_sigma, "update-ignores-sigma"},
    {Variant::shared_key, "shared-key"},
    {Variant::any_former, "any-former"},
    {Variant::outdated_for_late, "outdated-for-late"},
    {Variant::votes_numbered_early, "votes-numbered-early"},
    {Variant::write_answered_early, "write-answered-early"},
}};

constexpr std::optional<Variant> parse_variant(std::string_view name) {
  for (const VariantName& known : kVariantNames) {
    if (known.name == name) return known.variant;
  }
  return std::nullopt;
}

}  // namespace prophecy::consistency

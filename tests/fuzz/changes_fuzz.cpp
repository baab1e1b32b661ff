// Two versions of an answer, whatever their fields and bodies are, have a difference that adds up,
// and equal ones have none. A zero byte separates the fields and the body of either version.
#include <array>
#include <string>
#include <string_view>

#include "expect.hpp"
#include "measurement/analysis/change_causes.hpp"
#include "measurement/analysis/rabin_chunks.hpp"
#include "measurement/analysis/rule_candidates.hpp"

using namespace prophecy::measurement;

namespace {

std::string_view take_part(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

void check_bodies(std::string_view before, std::string_view after) {
  const BodyDifference chunks = compare_bodies(before, after);
  REQUIRE(chunks.share >= 0 && chunks.share <= 1);
  REQUIRE(chunks.one_edit || !chunks.one_strict_edit);
  REQUIRE(before != after || chunks.share == 0);
  const TokenDifference words = difference_of(before, after);
  REQUIRE(words.begin <= words.end_before && words.end_before <= before.size());
  REQUIRE(words.begin <= words.end_after && words.end_after <= after.size());
  std::uint64_t all = 0;
  for (const std::uint64_t each : words.tokens)
    all += each;
  REQUIRE(words.followed || all == 0);
  REQUIRE(before != after || all == 0);
  REQUIRE(before == after || !words.followed || all > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view old_fields = take_part(rest);
  const std::string_view old_body = take_part(rest);
  const std::string_view new_fields = take_part(rest);
  const std::string_view new_body = rest;
  check_bodies(old_body, new_body);
  check_bodies(old_body, old_body);
  ChangeCauses causes;
  causes.add(0, {old_fields, old_body}, {new_fields, new_body});
  REQUIRE(causes.avoidable() <= causes.followed() && causes.followed() <= causes.bodies());
  RuleCandidates rules;
  rules.add_transition(old_fields, new_fields);
  rules.add_unsketched(AnswerKind::varies, new_fields);
  REQUIRE(rules.settled() <= 1 && rules.transitions().size() == rules.settled());
  rules.add_transition(old_fields, old_fields);
  REQUIRE(rules.settled() <= 1);
  return 0;
}

#include "simulation/canary.hpp"

#include <array>

namespace prophecy::simulation {

std::string_view to_string(Canary canary) {
  static constexpr std::array<std::string_view, kCanaries> kNames = {"none",
                                                                     "small_quorum",
                                                                     "double_execution",
                                                                     "wrong_result",
                                                                     "lost_write",
                                                                     "small_view_change",
                                                                     "reply_accepted_early",
                                                                     "tentative_early",
                                                                     "behind_early",
                                                                     "unproven_checkpoint",
                                                                     "gullible_signatures",
                                                                     "votes_in_left_view",
                                                                     "ignores_pre_prepared",
                                                                     "no_session_check",
                                                                     "no_durable_vote",
                                                                     "forgets_at_once",
                                                                     "prepares_without_body",
                                                                     "any_time",
                                                                     "one_decision",
                                                                     "early_checkpoint",
                                                                     "no_durable_content",
                                                                     "gullible_macs",
                                                                     "erases_nothing",
                                                                     "repeats_replies",
                                                                     "pays_for_strangers",
                                                                     "limits_by_name",
                                                                     "any_view",
                                                                     "slow_to_give_up",
                                                                     "early_base",
                                                                     "early_body",
                                                                     "keeps_no_state",
                                                                     "proposes_alone",
                                                                     "bears_grudges",
                                                                     "repeats_writes",
                                                                     "late_handlers",
                                                                     "pretends_restores",
                                                                     "overfills",
                                                                     "signatures_outlive",
                                                                     "keeps_old_keys",
                                                                     "ends_no_turn",
                                                                     "hoards",
                                                                     "hashes_garbage",
                                                                     "chatters",
                                                                     "looks_at_all",
                                                                     "counts_halts",
                                                                     "serves_last"};
  return kNames.at(static_cast<std::size_t>(canary));
}

std::string_view finding_of(Canary canary) {
  switch (canary) {
    case Canary::behind_early:
      return "outside the order saw version";
    case Canary::repeats_writes:
      return "executes a write that crashes";
    case Canary::late_handlers:
      return "another result than the sequential history's";
    case Canary::pretends_restores:
      return "is said to be restored";
    case Canary::overfills:
      return "although the state is full";
    case Canary::keeps_old_keys:
      return "under a replaced key";
    case Canary::bears_grudges:
      return "is no member again";
    case Canary::ends_no_turn:
    case Canary::counts_halts:
    case Canary::proposes_alone:
      return "which no fault explains";
    case Canary::serves_last:
      return "waits for more than";
    case Canary::limits_by_name:
    case Canary::prepares_without_body:
    case Canary::early_checkpoint:
    case Canary::one_decision:
      return "are not answered although";
    case Canary::any_time:
      return "at a time that is far ahead";
    case Canary::no_session_check:
      return "for the second time";
    case Canary::tentative_early:
      return "correct replicas have executed ahead";
    case Canary::hoards:
      return "the bound growth-bytes";
    case Canary::hashes_garbage:
      return "the bound hashed-bytes-per-step";
    case Canary::chatters:
      return "the bound frames-per-second";
    case Canary::looks_at_all:
      return "the bound looks-per-second";
    case Canary::repeats_replies:
      return "the bound replies-per";
    case Canary::pays_for_strangers:
      return "the bound signatures-of-strangers";
    case Canary::slow_to_give_up:
      return "has waited for";
    case Canary::keeps_no_state:
      return "gives up its own state";
    case Canary::early_base:
    case Canary::early_body:
      return "the disk of replica";
    case Canary::erases_nothing:
      return "on its disk, which are more";
    default:
      return "";
  }
}

std::optional<Canary> parse_canary(std::string_view name) {
  for (std::size_t i = 1; i < kCanaries; ++i) {
    const auto canary = static_cast<Canary>(i);
    if (to_string(canary) == name) return canary;
  }
  return std::nullopt;
}

pbft::QuorumRule replica_rule(Canary canary, std::uint32_t faults) {
  pbft::QuorumRule rule = pbft::QuorumRule::standard(faults);
  if (canary == Canary::small_quorum) {
    --rule.prepared;
    --rule.committed;
  }
  if (canary == Canary::small_view_change) rule.view_change = rule.weak;
  if (canary == Canary::unproven_checkpoint) rule.certificate = 1;
  if (canary == Canary::ignores_pre_prepared) rule.vouching = 0;
  if (canary == Canary::prepares_without_body) {
    rule.bodies = 0;
    rule.holders = 1;  // else no correct primary proposes it
  }
  if (canary == Canary::proposes_alone) rule.holders = 1;
  if (canary == Canary::one_decision) rule.weak = 1;
  if (canary == Canary::early_checkpoint) rule.stable = 1;
  if (canary == Canary::any_view) rule.vouching_views = 0;
  if (canary == Canary::keeps_no_state) rule.own_state = rule.replicas + 1;
  return rule;
}

pbft::QuorumRule client_rule(Canary canary, std::uint32_t faults) {
  pbft::QuorumRule rule = pbft::QuorumRule::standard(faults);
  if (canary == Canary::reply_accepted_early) {
    rule.weak = 1;
    rule.committed = 1;
  }
  if (canary == Canary::tentative_early) rule.tentative = rule.weak;
  if (canary == Canary::behind_early) rule.behind = rule.weak;
  return rule;
}

}  // namespace prophecy::simulation

// `Tally` counts what happened in runs, so that a test can see that everything did.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace prophecy::consistency {

enum class Met : std::uint8_t {
  fast,
  replicated,
  coalesced,
  outdated,
  is_anothers,
  out_of_date,
  unsketchable,
  evictions,
  group_restarts,
  confirmations,
  liars_named,
  noise,
  hedged,
  hedges_won,
  blocks_begun,
  blocks_completed,
  blocks_broken,
  blocks_switched,
  blocks_refuted,
  blocks_let_go,
  heads,
  observed,
  unverified,
  listed,
  over_budget,
  confirmations_spent,
  overloads,
  unwaited_full,
  deadlines,
  clock_steps,
  outages,
  workers_replaced,
  accomplice_reads,
  trials,
  agreed_by_agents,
  agent_restarts,
  agent_group_restarts,
  views_entered,
  states_restored,
  executed_ahead,
  moved,
  moved_writes,
  partitions_taken,
  leases_lost,
  entries_handed,
  entries_handed_by_age,
  weights_set,
  origin_states_set,
  asked_out_of_the_draw,
  exchanges_cut,
  streams,
  shared_connections,
  delayed,
  asked_after_close,
  answers_skipped,
  held_up,
  kCount,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Met::kCount)> kMetNames{
    "fast reads",
    "replicated reads",
    "shared by a read that came later",
    "asked again for an outdated answer",
    "asked alone for another one's answer",
    "look-ups of what was out of date",
    "answers without a sketch",
    "evictions",
    "restarts of the group",
    "confirming reads",
    "accusations of a liar",
    "differences that are noise",
    "hedged reads",
    "hedges that won",
    "bodies in blocks or pieces that began",
    "bodies that were completed",
    "bodies that were cut off",
    "bodies that another origin went on with",
    "blocks that were refuted",
    "connections let go for a slow client",
    "reads by HEAD",
    "reads of observed routes",
    "answers without verification",
    "reads on a list of the configuration",
    "reads beyond their budget",
    "confirmations beyond their budget",
    "calls that the group had no room for",
    "reads without a waiter that found no room",
    "reads whose time was over",
    "steps of the clock",
    "outages",
    "workers replaced",
    "reads of the accomplice",
    "trials of liars",
    "answers of a real group",
    "restarts of an agent",
    "restarts of all agents",
    "views that agents entered",
    "states that agents restored",
    "batches that agents executed ahead",
    "requests that were moved to another member",
    "writes that waited for another member's floor",
    "partitions that a member took",
    "leases that were lost",
    "entries that were handed over",
    "entries of which the age was handed over",
    "weights of origins that were set",
    "origins that were taken out or put back",
    "origins asked that were out of the draw",
    "exchanges cut at the end of a drain",
    "bodies of unknown length that began",
    "reads put behind others on a connection",
    "reads that waited behind others for too long",
    "reads asked once more after a connection was closed",
    "answers on shared connections that nobody waited for",
    "reads of quick pages that waited behind others, slow pages beside them",
};

class Tally {
 public:
  void add(Met met, std::uint64_t count = 1) { at(met) += count; }
  Tally& operator+=(const Tally& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i)
      counts_[i] += other.counts_[i];
    return *this;
  }
  [[nodiscard]] const auto& counts() const { return counts_; }
  [[nodiscard]] bool has_met_all() const {
    return std::find(counts_.begin(), counts_.end(), 0U) == counts_.end();
  }

 private:
  std::uint64_t& at(Met met) { return counts_[static_cast<std::size_t>(met)]; }
  std::array<std::uint64_t, static_cast<std::size_t>(Met::kCount)> counts_{};
};

}  // namespace prophecy::consistency

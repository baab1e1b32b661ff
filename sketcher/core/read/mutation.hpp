// Mutations of the read path for the consistency checker's own test: each breaks one rule, and the
// checker has to find it. Only the programs that are built with PROPHECY_MUTATIONS can switch one
// on; everywhere else is_mutated() is false at compile time and costs nothing.
#pragma once

#include <cstdint>
#ifdef PROPHECY_MUTATIONS
#include <set>
#endif

#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

enum class Mutation : std::uint8_t {
  none,
  one_lookup,            // a fast answer is compared with what the table held when it was asked for
  any_former,            // any answer that the table ever held validates
  outdated_for_late,     // a read that joined another one gets its answer, even an outdated one
  private_for_late,      // a read that joined another one gets an answer made for that one alone
  no_floors,             // a write makes nothing out of date
  floor_at_first_only,   // an entry that is out of date by the second look-up validates
  join_ignores_floor,    // reads share a call begun before another worker's write was answered
  vote_ignores_floor,    // a vote is recorded though it was asked for before a write was answered
  unsketchable_ignored,  // the entry from before an answer without a sketch goes on to validate
  weak_accuses,          // an answer that f+1 members gave is enough to accuse the others
  noise_accuses,         // a vote accuses although the history did not hold the agreed answer
  exceptions_accuse,  // a fast answer to a read with exceptions accuses without a confirming read
  busy_accuses,       // an answer of status 429 or 5xx accuses its origin
  real_to_group,      // the group is asked with the client's own address and agent
  no_failover,        // an origin that cannot be reached is not replaced
  no_switch,          // the rest of a body is not asked for at another origin
  result_lost,        // a read that joined a failed call is never given its result
  hedge_lost,         // a read whose hedge fails last is never continued
  hedges_unpaid,      // a hedge is not paid for by other reads
  never_accuses,      // no origin is accused
  blocks_not_confirmed,    // a wrong block refutes its origin without a request with constants
  block_unchecked,         // a block is sent without a look at its digest
  unverified_tagged,       // an answer that was not verified has a sketch
  asks_without_bound,      // origins that fail are replaced again and again
  budget_ignored,          // reads ask the group beyond the slow path's budget
  confirms_without_bound,  // confirming reads have no budget
  unwaited_without_bound,  // reads that no client waits for have no bound
  late_for_next,           // of http/pipeline/: an answer that nobody waits for is the next read's
  delayed_again,           // a read that waited behind others is put behind others again
  follows_any,             // likewise: a read is put behind any other, whatever that takes
  pause_forgotten,         // an origin goes on while the client takes nothing
  draws_anyone,            // origins that are out are drawn like others
  look_up_unchecked,       // a fast answer is accepted without a look at lease and word
  record_unchecked,        // the group's answer is recorded without one
  write_unchecked,         // a write that has moved is answered by raising a floor of one's own
};

#ifdef PROPHECY_MUTATIONS
inline Mutation active_mutation = Mutation::none;
[[nodiscard]] inline bool is_mutated(Mutation mutation) {
  return active_mutation == mutation;
}
// For any_former.
inline std::set<sketch::Sketch> former_answers;
inline void note_former(const sketch::Sketch& answer) {
  former_answers.insert(answer);
}
[[nodiscard]] inline bool is_former(const sketch::Sketch& answer) {
  return former_answers.contains(answer);
}
#else
[[nodiscard]] constexpr bool is_mutated(Mutation /*mutation*/) {
  return false;
}
inline void note_former(const sketch::Sketch& /*answer*/) {}
[[nodiscard]] constexpr bool is_former(const sketch::Sketch& /*answer*/) {
  return false;
}
#endif

}  // namespace prophecy::sketcher

// Deliberate defects, to show that the checks find them. Each is a value that a correct replica or
// client would have otherwise, or something that its host does behind its back.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pbft/core/state/quorum.hpp"

namespace prophecy::simulation {

enum class Canary : std::uint8_t {
  none,
  small_quorum,           // one vote fewer, and a primary that proposes two batches at one number
  double_execution,       // a correct replica executes an operation twice
  wrong_result,           // f+1 replicas get a wrong result from their service
  lost_write,             // f+1 replicas' services forget an append they confirmed
  small_view_change,      // views begin with f+1 view-change messages, beside a replica that lies
  reply_accepted_early,   // a client is content with one reply, beside a replica that lies
  tentative_early,        // a client is content with f+1 replies that are only prepared
  behind_early,           // f+1 replicas behind a call will do, where reads are linearizable
  unproven_checkpoint,    // one signature is certificate enough in a view-change message
  gullible_signatures,    // any member's signature is taken for any other's
  votes_in_left_view,     // a replica that asks for a new view goes on voting in the old one
  ignores_pre_prepared,   // a new view takes what one replica says it has prepared, condition A2
  no_session_check,       // requests are executed as often as they are ordered
  no_durable_vote,        // votes are not on the disk before a crash
  forgets_at_once,        // who has lost its disk votes again as if it were new
  prepares_without_body,  // a batch is prepared by those that lack the bodies that it names
  any_time,               // a primary may propose any time
  one_decision,           // what one replica says to be committed is taken for it
  early_checkpoint,       // a checkpoint is stable upon one replica's word
  no_durable_content,     // batches are not on the disk, only that they were voted on
  gullible_macs,          // any client's MAC is taken for right
  erases_nothing,         // what has become needless stays on the disk
  repeats_replies,        // a request that comes again is answered again, however often
  pays_for_strangers,     // signatures are checked for whoever sends them
  limits_by_name,         // of view-change messages, before it is known who sends them
  any_view,           // condition A2 without its views: a batch vouched for in an older one will do
  slow_to_give_up,    // a primary that does nothing is replaced after thirty times the time-out
  early_base,         // the journal names a state before its parts are on the disk
  early_body,         // a body is vouched for before its parts are on the disk
  keeps_no_state,     // a replica takes another's state for its own, however many have its own
  proposes_alone,     // a request whose body the primary alone has
  bears_grudges,      // a replica that has lied once is not listened to any more
  repeats_writes,     // a write that crashes is executed again, for as long as it does
  late_handlers,      // a write that is said to have ended is carried out afterwards
  pretends_restores,  // a state that cannot be restored is said to have been
  overfills,          // writes go on when the state is full
  signatures_outlive,  // the group: those of its earlier life are valid in this one
  keeps_old_keys,      // a key that was replaced is as good as the new one
  ends_no_turn,        // requests that came in one turn with others wait for the next event
  hoards,              // a little of each frame is kept for ever
  hashes_garbage,      // what strangers send is hashed again and again
  chatters,            // each frame is passed on to everybody
  looks_at_all,        // bodies that are missing, with each frame
  counts_halts,        // a replica holds against its primary what waited while it stood still
  serves_last,         // the correct clients: a primary hears their requests after others'
  count_,
};
constexpr std::size_t kCanaries = static_cast<std::size_t>(Canary::count_);

[[nodiscard]] std::string_view to_string(Canary canary);
// What the oracle says that has to find it, in part; empty where any may.
[[nodiscard]] std::string_view finding_of(Canary canary);
[[nodiscard]] std::optional<Canary> parse_canary(std::string_view name);

[[nodiscard]] pbft::QuorumRule replica_rule(Canary canary, std::uint32_t faults);
[[nodiscard]] pbft::QuorumRule client_rule(Canary canary, std::uint32_t faults);

}  // namespace prophecy::simulation

// Mutations of the ring for its simulator's own test: each breaks one rule, and the simulator has
// to find it. Only programs that are built with PROPHECY_MUTATIONS can switch one on; everywhere
// else is_mutated() is false at compile time and costs nothing.
#pragma once

#include <cstdint>

namespace prophecy::dht {

enum class Mutation : std::uint8_t {
  none,
  lease_from_answer,           // a lease counts from when its renewal was answered
  lease_by_ping,               // an answered ping renews the lease
  lease_without_view,          // a renewal does not check that its view is the newest
  lease_before_words,          // a lease of a new view is asked for before the words are changed
  resumes_lease,               // a new process goes on with the lease that its predecessor left
  no_fence,                    // a taker begins at once
  fence_ignores_drift,         // it waits for as long as a lease, by its own clock alone
  fence_trusts_sighting,       // the newest renewal that was read counts as the last one
  fence_by_name,               // another life's adoption of a view counts as that of the holder
  fence_one_view,              // it waits for the holders of the view before alone
  retains_across,              // what a view skipped had given to another is taken for retained
  no_barrier,                  // entries handed over count whatever was recorded since
  leftovers_count,             // entries of a former ownership are not erased
  no_floors,                   // floors are not handed over
  entries_before_floors,       // they are handed over last
  gives_former_tenure,         // entries are handed over though another may have held them since
  newest_step,                 // a view names the newest step that one of its members speaks
  ignores_newer_steps,         // a view of a step that is not spoken here is not read
  group_phase_takes,           // entries are taken after answers through the group alone
  settings_unknown_agreed,     // a change of unknown outcome is taken for agreed
  settings_written_blindly,    // after a conflict, a change is not applied anew to what is there
  announced_without_settings,  // a process takes part before it has what is agreed
};

#ifdef PROPHECY_MUTATIONS
inline Mutation active_mutation = Mutation::none;
[[nodiscard]] inline bool is_mutated(Mutation mutation) {
  return active_mutation == mutation;
}
#else
[[nodiscard]] constexpr bool is_mutated(Mutation /*mutation*/) {
  return false;
}
#endif

}  // namespace prophecy::dht

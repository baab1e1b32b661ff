// What may be broken in a run, and which oracle has to find it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "dht/core/mutation.hpp"

namespace prophecy::ring {

// Defects of what is around the core: of workers, of the shell, of the world's assumptions.
enum class Broken : std::uint8_t {
  none,
  lease_before_look_up,   // a worker looks at the lease first, and then looks up
  word_before_lease,      // it looks at the word first, and then at the lease
  update_before_check,    // it records an answer, and then looks whether it may
  replicated_unchecked,   // it accepts the group's answers without a look at the lease
  write_unchecked,        // it answers a write whose partition has moved, raising its own floor
  call_shared_across,     // a read joins a call that was begun under an earlier ownership
  word_by_stage,          // it compares the stage of ownership alone, not its number
  both_blacklisted,       // the paper's rule: while a region moves, both owners serve it replicated
  location_ignored,       // what a write names elsewhere is not made out of date there
  shares_in_group_phase,  // an answer is shared that rests on the group alone
  clears_at_once,         // entries are erased while a worker may still be recording
  gives_at_once,          // entries are handed over while a worker may still be recording
  wall_clock,             // leases are measured by a clock that operators set
  barrier_without_view,   // a barrier does not name the view that it is for
  view_after_word,        // a worker reads the partition's word first, and then the view
  numbers_go_on,          // where members count for themselves, a taker counts on at its barrier
  hidden_pause,           // outside the assumptions: a pause that no clock shows
};

enum class Oracle : std::uint8_t {
  any,
  owner,
  acceptance,
  hand_over,
  delay_once,
  view,
  settings,
  service
};

struct Variant {
  std::string_view name;
  dht::Mutation mutation = dht::Mutation::none;
  Broken broken = Broken::none;
  Oracle oracle = Oracle::any;  // that has to find it
};

inline constexpr std::array kVariants{
    Variant{"correct"},
    // The core.
    Variant{"lease-from-answer", dht::Mutation::lease_from_answer, Broken::none, Oracle::owner},
    Variant{"lease-by-ping", dht::Mutation::lease_by_ping, Broken::none, Oracle::owner},
    Variant{"lease-without-view", dht::Mutation::lease_without_view, Broken::none, Oracle::owner},
    Variant{"lease-before-words", dht::Mutation::lease_before_words, Broken::none, Oracle::owner},
    Variant{"resumes-lease", dht::Mutation::resumes_lease, Broken::none, Oracle::owner},
    Variant{"no-fence", dht::Mutation::no_fence, Broken::none, Oracle::owner},
    Variant{"fence-ignores-drift", dht::Mutation::fence_ignores_drift, Broken::none, Oracle::owner},
    Variant{"fence-trusts-sighting", dht::Mutation::fence_trusts_sighting, Broken::none,
            Oracle::owner},
    Variant{"fence-by-name", dht::Mutation::fence_by_name, Broken::none, Oracle::owner},
    Variant{"fence-one-view", dht::Mutation::fence_one_view, Broken::none, Oracle::owner},
    Variant{"retains-across", dht::Mutation::retains_across, Broken::none, Oracle::acceptance},
    Variant{"newest-step", dht::Mutation::newest_step, Broken::none, Oracle::service},
    Variant{"ignores-newer-steps", dht::Mutation::ignores_newer_steps, Broken::none,
            Oracle::service},
    Variant{"no-barrier", dht::Mutation::no_barrier, Broken::none, Oracle::hand_over},
    Variant{"leftovers-count", dht::Mutation::leftovers_count, Broken::none, Oracle::delay_once},
    Variant{"no-floors", dht::Mutation::no_floors, Broken::none, Oracle::hand_over},
    Variant{"entries-before-floors", dht::Mutation::entries_before_floors, Broken::none,
            Oracle::hand_over},
    Variant{"gives-former-tenure", dht::Mutation::gives_former_tenure, Broken::none,
            Oracle::hand_over},
    Variant{"group-phase-takes", dht::Mutation::group_phase_takes, Broken::none, Oracle::hand_over},
    Variant{"settings-unknown-agreed", dht::Mutation::settings_unknown_agreed, Broken::none,
            Oracle::settings},
    Variant{"settings-written-blindly", dht::Mutation::settings_written_blindly, Broken::none,
            Oracle::settings},
    Variant{"announced-without-settings", dht::Mutation::announced_without_settings, Broken::none,
            Oracle::settings},
    // Workers and the shell.
    Variant{"lease-before-look-up", dht::Mutation::none, Broken::lease_before_look_up,
            Oracle::acceptance},
    Variant{"word-before-lease", dht::Mutation::none, Broken::word_before_lease,
            Oracle::acceptance},
    Variant{"update-before-check", dht::Mutation::none, Broken::update_before_check,
            Oracle::delay_once},
    Variant{"replicated-unchecked", dht::Mutation::none, Broken::replicated_unchecked,
            Oracle::acceptance},
    Variant{"write-unchecked", dht::Mutation::none, Broken::write_unchecked, Oracle::delay_once},
    Variant{"call-shared-across", dht::Mutation::none, Broken::call_shared_across,
            Oracle::acceptance},
    Variant{"word-by-stage", dht::Mutation::none, Broken::word_by_stage, Oracle::acceptance},
    Variant{"both-blacklisted", dht::Mutation::none, Broken::both_blacklisted, Oracle::delay_once},
    Variant{"location-ignored", dht::Mutation::none, Broken::location_ignored, Oracle::delay_once},
    Variant{"shares-in-group-phase", dht::Mutation::none, Broken::shares_in_group_phase,
            Oracle::delay_once},
    Variant{"clears-at-once", dht::Mutation::none, Broken::clears_at_once, Oracle::acceptance},
    Variant{"gives-at-once", dht::Mutation::none, Broken::gives_at_once, Oracle::acceptance},
    Variant{"barrier-without-view", dht::Mutation::none, Broken::barrier_without_view,
            Oracle::view},
    Variant{"view-after-word", dht::Mutation::none, Broken::view_after_word, Oracle::view},
    Variant{"numbers-go-on", dht::Mutation::none, Broken::numbers_go_on, Oracle::delay_once},
    Variant{"wall-clock", dht::Mutation::none, Broken::wall_clock, Oracle::owner},
    Variant{"hidden-pause", dht::Mutation::none, Broken::hidden_pause, Oracle::owner},
};

[[nodiscard]] inline std::optional<Variant> parse_variant(std::string_view name) {
  for (const Variant& variant : kVariants) {
    if (variant.name == name) return variant;
  }
  return std::nullopt;
}

}  // namespace prophecy::ring

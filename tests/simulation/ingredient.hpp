// What a scenario is made of: a list of things that go wrong, and of the calls that clients make
// meanwhile. Any of them may be left out, so that a failing run can be reduced to what it needs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace prophecy::simulation {

enum class IngredientKind : std::uint8_t {
  calls,             // of a correct client, spread over an interval
  large_results,     // a share of the calls has one that only one replica sends
  large_operations,  // a share of the calls has one that is ordered by digest
  impatience,        // a share of the calls has a short deadline, or is cancelled
  loss,              // a share of the frames is lost
  repetition,
  corruption,
  lateness,    // a share of the frames comes far behind later ones
  lost_votes,  // a share of the prepares and commits is lost: few have what many should have
  partition,
  crash,            // for good
  restart,          // the process ends, and is started again with its disk
  power_loss,       // likewise, of several machines at once: what was not synced is gone
  lost_disk,        // restarted without it; only while so few are faulty that one more may be
  lost_service,     // its state is gone, which the replica is told, until it can be restored
  lost_services,    // those of many replicas at once, as where all use one machine
  wrong_service,    // its state is gone, and nobody is told
  read_failures,    // replicas whose service fails reads at times
  slow_service,     // a share of the operations takes it very long; what comes behind them waits
  unmarked_disks,   // nothing says that they are new: the group finds out, while some start late
  stalled_disk,     // nothing that it is handed ends meanwhile
  halted,           // machines stand still, as virtual ones do whose host is busy
  rotten_disk,      // a share of its files is changed, gone or unreadable
  refusing_disk,    // cannot put a state on its disk, so that a restart begins far behind
  clock,            // a node's clock is off and runs fast or slow
  wall_clock,       // of a replica: it steps by `offset`, and back at the end
  twins,            // a replica runs twice under one key, see hosts/twins.hpp
  client_restart,   // a client's process ends, and is started again; its clock differs by `offset`
  misconduct,       // a replica does not behave as it should, see behaviours/
  bad_client,       // see bad_client.hpp
  strangers,        // see strangers.hpp; `percent` of what they say are view changes
  many_at_once,     // a replica reads many frames in one turn, as one does that has sockets
  noisy_state,      // a share of the writes leaves another state at one replica, which is correct
  noisy_answers,    // a share of the operations is answered otherwise there
  rotten_state,     // a part of the state of one replica's service changes, and nobody is told
  new_keys,         // a replica's key is replaced, see hosts/key_rollover.hpp
  stolen_key,       // somebody goes on with the old one, see hosts/thief.hpp
  crashing_writes,  // a share of the writes gets no usable answer there (hosts/origin_faults.hpp)
  untold_states,    // a service's state can neither be captured nor restored there
  full_states,      // more than `count` appends are not taken there, until batch `raised_at`
  narrow_links,     // of replicas: `count` bytes in a millisecond, see hosts/connections.hpp;
                    // a connection breaks upon a share of the frames
  count_,
};
constexpr std::size_t kIngredientKinds = static_cast<std::size_t>(IngredientKind::count_);
[[nodiscard]] std::string_view to_string(IngredientKind kind);

// How a replica misbehaves. The first ones could be faults of its network, or of its machine: it
// says nothing that is not so. Those from kFirstLie on break promises that others rely on, so
// that no more than f replicas may ever do so in one run.
enum class BehaviourKind : std::uint8_t {
  silent,           // sends nothing
  mute,             // sends no replies
  withholding,      // sends some kinds to some receivers not at all
  slow,             // sends everything late
  selective_macs,   // its tags are wrong for some receivers
  garbage,          // sends nonsense, in others' names too
  replaying,        // sends old frames again, its own and others'
  flooding,         // sends very many frames that say nothing new
  censoring,        // does not hear of one client's requests
  claiming_behind,  // says always that it has nothing
  equivocating,     // as primary: two proposals for one number, each to one part of the group
  lying_votes,
  stale_views,        // votes again, in views that are over or have not begun
  lying_checkpoints,  // other digests, other numbers, other replicas' names
  lying_status,
  lying_replies,
  forged_view_changes,  // sets and certificates that are not so
  forged_new_views,     // from too few, repeated, altered or old view-change messages
  ordering_junk,        // as primary: batches of repeated and of invented requests
  false_times,          // as primary: proposals at times that are not now
  absurd_status,        // numbers at the ends of their ranges
  doubled_voices,       // votes and certificates in which one replica counts twice
  lying_pledges,        // to a replica that has lost its memory
  lying_silence,        // of a memory that it has not lost
  lying_roots,          // of a checkpoint's state, in the right history
  siding_roots,         // the state of whichever correct replica differs from itself
  false_parts,          // of states and bodies, and questions for parts that nobody needs
  live_lies,            // with digests, numbers and views that really occurred
  conspiring,           // as primary: proposals for one backup alone, and later claims about them
  mutating,             // one field of a live message, by a little
  lying_keys,           // for MACs, where these change
  lying_states,         // behind writes without an answer, and of those that operators ask for
  false_holder,         // claims bodies that a client, its accomplice, serves to some replicas only
  count_,
};
constexpr std::size_t kBehaviourKinds = static_cast<std::size_t>(BehaviourKind::count_);
constexpr BehaviourKind kFirstLie = BehaviourKind::equivocating;
[[nodiscard]] std::string_view to_string(BehaviourKind kind);

enum class BadClientKind : std::uint8_t {
  selective_macs,      // requests that only some replicas can believe
  two_operations,      // under one timestamp, to different replicas
  jumping_timestamps,  // far ahead, and back
  flooding,            // requests sent again and again
  garbage,             // operations and frames that are none
  missing_bodies,      // requests by digest whose bodies never come
  withheld_bodies,     // or come to some replicas only, and in part
  false_bodies,        // or are not what their names say
  dripped_bodies,      // several at once, each handed to some replicas at a part now and then
  lone_bodies,         // of megabytes, each given to one replica alone; in scenes of their own
  greedy,              // more good requests than the group can order; in scenes of their own
  shared_session,      // two processes that take one session for theirs, as after a copied file
  count_,
};
constexpr std::size_t kBadClientKinds = static_cast<std::size_t>(BadClientKind::count_);
[[nodiscard]] std::string_view to_string(BadClientKind kind);

struct Ingredient {
  std::uint32_t number = 0;  // its place in the whole list of the seed, from 1 on
  IngredientKind kind = IngredientKind::calls;
  NodeId node = 0;          // that it befalls, where that is one
  std::uint64_t nodes = 0;  // bits of replicas, where there are several
  TimePoint from{};
  TimePoint until = TimePoint::max();
  std::uint64_t percent = 0;
  std::uint32_t count = 0;  // of calls
  BehaviourKind behaviour = BehaviourKind::silent;
  BadClientKind bad_client = BadClientKind::selective_macs;
  // Of a clock; of late frames, the longest; of a slow service; between what strangers say; of a
  // turn, the longest; between members that take new keys; of a queue in front of a link.
  Duration offset{};
  std::int64_t drift_ppm = 0;  // parts in a million
  // 1: of the first faulty set, which loses its memory at the end and is correct from then on;
  // 2: of the second one, not before all of the first are members again; 0: of the only one.
  std::uint32_t turn = 0;
  // Of full states: from the checkpoint at this number on they may hold twice as much; 0: never.
  std::uint64_t raised_at = 0;
  // Of new keys: nobody waits for a member to be back before the next one is restarted; and the
  // replica comes to another machine, without its store.
  bool is_hasty = false;
  bool is_elsewhere = false;

  // One replica that refuses what others carry out has another state.
  [[nodiscard]] bool fills_alone() const {
    return kind == IngredientKind::full_states && nodes == std::uint64_t{1} << node;
  }
  [[nodiscard]] bool is_active(TimePoint now) const { return now >= from && now < until; }
  // A replica whose wall clock is further from the others' than they tolerate is faulty.
  static constexpr Duration kStepTolerated = seconds(2);
  [[nodiscard]] bool is_lie() const {
    const bool steps_far = offset > kStepTolerated || offset < -kStepTolerated;
    if (kind == IngredientKind::wall_clock) return steps_far;
    return (kind == IngredientKind::misconduct && behaviour >= kFirstLie) ||
           kind == IngredientKind::wrong_service || kind == IngredientKind::twins ||
           fills_alone() || kind == IngredientKind::stolen_key;
  }
};

[[nodiscard]] std::string describe(const Ingredient& ingredient);

}  // namespace prophecy::simulation

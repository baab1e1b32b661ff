// What a seed decides beforehand about a run, and what is counted in runs.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "ring/table.hpp"
#include "ring/variant.hpp"
#include "simulation/random.hpp"

namespace prophecy::ring {

constexpr Duration kLease = milliseconds(1000);
constexpr Duration kSessionTimeout = milliseconds(1000);
constexpr Duration kTurmoil = milliseconds(14000);  // things go wrong up to then
constexpr Duration kCalm = milliseconds(9000);      // and then no more
// By then each partition is served again.
constexpr Duration kRecovery = milliseconds(5000);

struct RunSettings {
  Variant variant;
  Layout layout;
  std::size_t hosts = 3;
  std::size_t hosts_at_first = 3;
  std::uint32_t drift_ppm = 1000;
  Duration group_only{};
  Duration fault_pause_most = milliseconds(1500);
  std::uint64_t stumble_percent = 1;
  std::uint64_t slow_percent = 3;  // of what is on its way
  bool has_other_writers = true;   // past the ring
  bool has_locations = true;       // writes that change another register, too
  bool keeps_tables = true;        // a restarted member has its table's file
  bool counts_itself = false;      // each member numbers answers by itself: as with several groups

  static RunSettings draw(const Variant& variant, simulation::Random& random) {
    RunSettings settings;
    settings.variant = variant;
    settings.layout.partitions = 4 + random.below(5);
    settings.layout.slots = settings.layout.partitions;
    settings.layout.registers = settings.layout.slots + random.below(3);
    settings.hosts = 2 + random.below(4);
    settings.hosts_at_first = 1 + random.below(settings.hosts);
    constexpr std::array<std::uint32_t, 4> kDrifts{0, 1000, 20'000, 100'000};
    settings.drift_ppm = kDrifts.at(random.below(kDrifts.size()));
    if (random.chance(30)) settings.group_only = milliseconds(300 + random.below(1500));
    settings.fault_pause_most = milliseconds(300 + random.below(2500));
    settings.stumble_percent = random.chance(30) ? 0 : random.below(4);
    settings.has_other_writers = random.chance(70);
    settings.has_locations = random.chance(50);
    settings.keeps_tables = random.chance(50);
    if (random.chance(40)) settings.crowd(random);
    settings.counts_itself = random.chance(30) || variant.broken == Broken::numbers_go_on;
    return settings;
  }

  // Few partitions and registers, many requests for each, and workers that are stopped often.
  void crowd(simulation::Random& random) {
    layout.partitions = 2;
    layout.slots = 2;
    layout.registers = 2;
    hosts = 2 + random.below(2);
    hosts_at_first = hosts;
    stumble_percent = 4 + random.below(8);
    slow_percent = random.chance(50) ? 3 : 20;
    keeps_tables = true;
    if (group_only > Duration{}) group_only = milliseconds(1000 + random.below(1500));
  }
};

enum class Met : std::uint8_t {
  fast_reads,
  stale_reads,
  handed_reads,         // fast reads that an entry from another member has confirmed
  handed_reads_by_age,  // likewise, where members count for themselves
  shared_reads,
  group_only_answers,
  writes,
  moved_reads,     // asked again: the partition moved meanwhile
  refused_writes,  // of an older view; asked for again where the partition is by then
  moved_writes,    // answered after a floor was raised elsewhere
  locations,       // made out of date elsewhere
  refused_late,    // answers that came after the lease
  views,
  skipped_views,
  older_steps,     // views whose members speak the first step alone, all or some of them
  newer_steps,     // views whose members all speak the second
  takes_by_word,   // the former holder had confirmed
  takes_by_lease,  // its lease was over
  handed_entries,
  unknown_calls,
  crashes,
  restarts,
  pauses,
  stumbles,
  partitions,
  expiries,
  drains,
  ghosts,  // two processes of one name
  settings_agreed,
  settings_lost,      // another member was faster
  settings_unshared,  // for a while
  count_,
};
constexpr std::size_t kMet = static_cast<std::size_t>(Met::count_);
constexpr std::array<std::string_view, kMet> kMetNames{
    "fast reads",
    "stale reads",
    "reads confirmed by entries handed over",
    "reads confirmed by entries of which the age was handed over",
    "shared reads",
    "answers through the group alone",
    "writes",
    "reads asked again after a move",
    "writes refused for their view",
    "writes answered after a move",
    "locations made out of date elsewhere",
    "answers after the lease",
    "views",
    "views skipped",
    "views of the older step",
    "views of the newer step",
    "takes by word",
    "takes by the end of a lease",
    "entries handed over",
    "calls of unknown outcome",
    "crashes",
    "restarts",
    "pauses",
    "pauses between two steps",
    "partitions of the network",
    "sessions expired",
    "drains",
    "processes started beside one of their name",
    "settings agreed",
    "settings that another member has changed first",
    "settings that had to wait for the service",
};

struct Tally {
  std::array<std::uint64_t, kMet> counts{};
  void add(Met met, std::uint64_t count = 1) { counts.at(static_cast<std::size_t>(met)) += count; }
  void add(const Tally& other) {
    for (std::size_t i = 0; i < kMet; ++i)
      counts.at(i) += other.counts.at(i);
  }
};

}  // namespace prophecy::ring

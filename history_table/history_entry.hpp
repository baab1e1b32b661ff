// What the history table holds and answers, as plain values.
#pragma once

#include <cstdint>

#include "base/metric.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy {

using sketch::Sketch;

// The agreed position of an answer in the group's history: (sequence number << 16) | index.
// 62 bits; 0 stands for "none".
using Sigma = std::uint64_t;
constexpr Sigma kSigmaMax = (Sigma{1} << 62) - 1;

// Algorithm 1's b.
enum class Mark : std::uint8_t {
  none = 0,
  whitelisted = 1,  // always a fast read; carries no answer
  blacklisted = 2,  // always replicated; carries no answer
};

// How much of the table an answer may take.
enum class Room : std::uint8_t {
  any,
  limited,  // a share of the table: for answers that a client brings about by any path it makes up
};

struct HistoryEntry {
  Sketch answer{};  // all zero with a mark
  Sigma sigma = 0;  // 0 with a mark
  Mark mark = Mark::none;

  bool operator==(const HistoryEntry&) const = default;
};

enum class UpdateOutcome : std::uint8_t {
  inserted,
  replaced,   // the entry had an older sigma
  older,      // as new or newer a sigma is remembered for this key, or may have been: unchanged
  marked,     // the entry is whitelisted or blacklisted: unchanged
  full,       // no room: unchanged. Every entry of the bucket carries a mark, and marks are not
              // evicted; or the room is limited, and what it has is in use
  unordered,  // which of two answers is the newer one is not known: the entry has none now
};

enum class ChangeOutcome : std::uint8_t {
  done,
  full,  // every entry of the bucket carries a mark already: unchanged
  busy,  // another writer held the bucket too long; it may have died: declare_dead, then again
};

// What becomes of an entry that another table brings.
enum class SeedOutcome : std::uint8_t {
  taken,
  known,         // the key has the same answer, which counts from now on; or a mark, which stays
  contradicted,  // it has another one, or none: which is the newer is not known, it has none now
  forgotten,     // it may have had an answer
  full,          // no room without an eviction, or for one of limited room
};

// Outcomes for an entry that a former owner of its partition hands over.
enum class HandedOutcome : std::uint8_t {
  taken,
  known,      // there is an entry, or a mark: unchanged
  forgotten,  // there may have been one that was recorded since
  full,       // no room
  beyond,     // its sigma is not below the barrier
};

struct HistoryTableStats {
  std::uint64_t capacity = 0;  // entries
  std::uint64_t entries = 0;   // with and without a mark
  std::uint64_t evictions = 0;
  std::uint64_t recoveries = 0;  // locks taken from dead writers
  std::uint64_t limited = 0;     // of the entries, those whose room is limited
  std::uint64_t limited_max = 0;
};
inline constexpr auto kTableStatsTable = metric_table<HistoryTableStats>(
    "", "history",
    {metric_row<&HistoryTableStats::capacity>(
         "capacity", gauge_metric("prophecy_history_capacity", "entries",
                                  "Entries that the history table has room for.")),
     metric_row<&HistoryTableStats::entries>(
         "entries",
         gauge_metric("prophecy_history_entries", "entries", "Entries of the history table.")),
     metric_row<&HistoryTableStats::evictions>(
         "evictions", counter_metric("prophecy_history_evictions_total", "entries",
                                     "Entries evicted to make room.")),
     metric_row<&HistoryTableStats::recoveries>(
         "recoveries",
         counter_metric("prophecy_history_recoveries_total", "locks",
                        "Locks of the history table taken over from processes that had died.")),
     metric_row<&HistoryTableStats::limited>(
         "not_found",
         gauge_metric("prophecy_history_not_found", "entries", "Entries that hold no content.")
             .about("They stand for answers 404 and 410, and for answers that may not be "
                    "remembered.")),
     metric_row<&HistoryTableStats::limited_max>(
         "not_found_max",
         gauge_metric("prophecy_history_not_found_capacity", "entries",
                      "Entries without content that the history table has room for, about."))});

// One of the processes that may write: 0 is the master, 1.. are the workers.
using WriterSlot = std::uint16_t;
constexpr WriterSlot kWriterSlotMax = 255;

}  // namespace prophecy

// The history table: s(q) -> (s(r), sigma, b) in memory that all workers share (paper, 3.3.1).
//
// Memory is mapped before the workers are forked. Any number of processes read and write at once:
// readers never wait; writers of one bucket take turns. A process that is killed at any
// instruction, inside an update too, leaves its entry old, new or empty, and nobody waiting: the
// next writer of the bucket takes the lock from the dead one and empties the entry it held.
//
// An entry may disappear at any time (eviction, recovery): that costs a replicated request and
// never a wrong answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "sketch/sketch.hpp"

namespace prophecy {

using sketch::Sketch;

// The agreed position of an answer in the group's history: (sequence number << 16) | index.
// 62 bits; 0 stands for "none".
using Sigma = std::uint64_t;

// Algorithm 1's b.
enum class Mark : std::uint8_t {
  none = 0,
  whitelisted = 1,  // always a fast read; carries no answer
  blacklisted = 2,  // always replicated; carries no answer
};

struct HistoryEntry {
  Sketch answer{};  // all zero with a mark
  Sigma sigma = 0;
  Mark mark = Mark::none;
};

enum class UpdateOutcome : std::uint8_t {
  inserted,
  replaced,  // the entry had an older sigma
  older,     // the entry's sigma is as new or newer: unchanged
  marked,    // the entry is whitelisted or blacklisted: unchanged
};

struct HistoryTableStats {
  std::uint64_t capacity = 0;   // entries
  std::uint64_t entries = 0;
  std::uint64_t evictions = 0;
  std::uint64_t recoveries = 0;  // locks taken from dead writers
};

// One of the processes that may write: 0 is the master, 1.. are the workers.
using WriterSlot = std::uint16_t;
constexpr WriterSlot kWriterSlotMax = 255;

class HistoryTable {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{1} << 16;

  // Maps an empty table of at most `bytes`, shared with children forked later. `bucket_seed`
  // should be unpredictable to clients.
  [[nodiscard]] static Result<HistoryTable> create(std::size_t bytes, std::uint64_t bucket_seed);

  HistoryTable(HistoryTable&&) noexcept;
  HistoryTable& operator=(HistoryTable&&) noexcept;
  ~HistoryTable();

  // Names the calling process's slot; each live process has its own. Comes before any change.
  void attach(WriterSlot slot);
  // The master, after the process in `slot` has died and before another takes its place.
  void declare_dead(WriterSlot slot);

  [[nodiscard]] std::optional<HistoryEntry> lookup(const Sketch& key) const;
  // Algorithm 1: sets (s(r), sigma) when there is no entry or sigma is newer, atomically.
  UpdateOutcome update(const Sketch& key, const Sketch& answer, Sigma sigma);
  // Sets or (Mark::none) removes an operator's mark; removing leaves no entry.
  void set_mark(const Sketch& key, Mark mark);
  void erase(const Sketch& key);

  [[nodiscard]] HistoryTableStats stats() const;
};

}  // namespace prophecy

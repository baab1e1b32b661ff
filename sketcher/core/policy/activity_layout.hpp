// How the activity of one worker lies in shared memory: a head, sets, then the records of the sets.
// Zero is the beginning.
//
//   memory = head (64 bytes), sets of 64 bytes, 16 records of 256 bytes for each set
//   set    = 16 ways of 4 bytes, each for the record at its place
//   way    = fingerprint << 16 | has transitions << 15 | epoch of the last use    0: empty
//   record = version, what it is about, what it counts (one cache line); URL (three)
//
// The worker is the only writer. It alone looks at sets; the master reads records.
//
// What a record is about changes under its version: odd while it is written, larger afterwards.
// Every word of it is stored with release and loaded with acquire, so whoever finds the same even
// version before and after has seen nothing of a change (docs/history-table.md has the argument,
// for buckets). The counts of a record are one word each, and change without a version.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/clock.hpp"
#include "base/counter.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketcher {

struct alignas(64) ActivityHead {
  Counter records;      // in use: a gauge
  Counter evictions;    // records that made room for others
  Counter blacklisted;  // requests that are, automatically: a gauge
};

struct alignas(64) ActivitySet {
  static constexpr std::size_t kWays = 16;
  static constexpr std::uint32_t kHasTransitions = 1U << 15;
  static constexpr std::uint32_t kEpochMask = kHasTransitions - 1;

  std::array<std::uint32_t, kWays> ways;
};

struct alignas(64) ActivityRecord {
  static constexpr std::size_t kUrlBytesMax = 192;
  static constexpr std::uint64_t kIsHead = 1, kIsCut = 2;  // flags

  std::atomic<std::uint64_t> version;  // 0: never used
  // s(q) of 20 bytes, then in the upper half of the last word, from its lowest bit: the route's
  // number (16 bits), the URL's bytes (8), flags (8).
  std::array<std::atomic<std::uint64_t>, 3> identity;
  std::atomic<std::uint64_t> hits;         // fast reads that the history vouched for
  std::atomic<std::uint32_t> group_reads;  // stays at its maximum
  std::atomic<std::uint32_t> transitions;  // likewise
  std::atomic<std::uint32_t> first_seconds;
  std::atomic<std::uint32_t> last_seconds;
  std::atomic<std::uint64_t> volatility;  // packed, as of last_seconds
  std::array<std::atomic<std::uint64_t>, kUrlBytesMax / 8> url;
};

// The time that records know.
inline std::uint32_t activity_seconds(TimePoint now) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<seconds>(now.time_since_epoch()).count());
}

static_assert(sizeof(ActivityHead) == 64 && sizeof(ActivitySet) == 64 &&
              sizeof(ActivityRecord) == 256 && offsetof(ActivityRecord, url) == 64);

// What a worker's memory holds. Views; requires kBytesMin, at a cache line.
struct ActivityParts {
  static constexpr std::size_t kSetBytes =
      sizeof(ActivitySet) + ActivitySet::kWays * sizeof(ActivityRecord);
  static constexpr std::size_t kBytesMin = sizeof(ActivityHead) + kSetBytes;

  ActivityParts(std::byte* memory, std::size_t bytes)
      : set_count((bytes - sizeof(ActivityHead)) / kSetBytes),
        head(reinterpret_cast<ActivityHead*>(memory)),
        sets(reinterpret_cast<ActivitySet*>(memory + sizeof(ActivityHead))),
        records(reinterpret_cast<ActivityRecord*>(sets + set_count)) {}

  [[nodiscard]] std::size_t record_count() const { return set_count * ActivitySet::kWays; }
  // Keys are digests under a secret: no client chooses a set.
  [[nodiscard]] std::size_t set_of(const sketch::Sketch& key) const {
    std::uint32_t hash;
    std::memcpy(&hash, key.data(), sizeof hash);
    return hash * std::uint64_t{set_count} >> 32;
  }

  std::size_t set_count;
  ActivityHead* head;
  ActivitySet* sets;
  ActivityRecord* records;  // of the first set, then of the second, ...
};

}  // namespace prophecy::sketcher

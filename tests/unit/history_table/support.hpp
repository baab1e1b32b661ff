// Keys and answers that check themselves: the answer stored for a key under a sigma is a function
// of both, so whoever reads a pair that nobody wrote can tell.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "history_table/editor.hpp"
#include "history_table/find_entry.hpp"
#include "history_table/partition.hpp"
#include "history_table/region.hpp"

namespace prophecy::table {

// splitmix64: a seeded sequence, the same on every machine.
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

inline Sketch sketch_from(std::uint64_t seed) {
  Sketch sketch;
  for (std::size_t at = 0; at < sketch.size(); at += 4) {
    const auto word = static_cast<std::uint32_t>(next_random(seed));
    std::memcpy(sketch.data() + at, &word, sizeof(word));
  }
  return sketch;
}

inline Sketch key_number(std::uint64_t number) {
  return sketch_from(number * 2 + 1);
}

inline Sketch answer_for(std::uint64_t key, Sigma sigma) {
  std::uint64_t seed = key;
  seed = next_random(seed) ^ sigma;
  return sketch_from(seed);
}

inline HistoryEntry entry_for(std::uint64_t key, Sigma sigma) {
  return {answer_for(key, sigma), sigma, Mark::none};
}

constexpr HistoryEntry marked_entry(Mark mark) {
  return {Sketch{}, 0, mark};
}

inline bool is_genuine(std::uint64_t key, const HistoryEntry& entry) {
  return entry.mark == Mark::none ? entry == entry_for(key, entry.sigma)
                                  : entry == marked_entry(entry.mark);
}

// A table of so few buckets that everything meets, in memory of its own.
class SmallRegion : public Region {
 public:
  SmallRegion(std::size_t buckets, double limited_share, std::uint64_t seed)
      : SmallRegion(buckets, kWriterRecords * sizeof(WriterRecord) + buckets * sizeof(Bucket),
                    seed) {
    set_limited_share(limited_share);
  }

 private:
  using Memory = std::unique_ptr<WriterRecord[]>;  // aligned as a region is

  SmallRegion(std::size_t buckets, std::size_t bytes, std::uint64_t seed)
      : SmallRegion(std::make_unique<WriterRecord[]>(bytes / sizeof(WriterRecord) + 1), bytes,
                    seed) {
    ASSERT(bucket_count() == buckets);
  }
  SmallRegion(Memory memory, std::size_t bytes, std::uint64_t seed)
      : Region(reinterpret_cast<std::byte*>(memory.get()), bytes, seed),
        memory_(std::move(memory)) {}

  Memory memory_;
};

inline SmallRegion small_region(std::size_t buckets, double limited_share = 1,
                                std::uint64_t seed = 0) {
  return {buckets, limited_share, seed};
}

// Counted slot by slot.
inline std::uint64_t limited_slots(const Region& region) {
  std::uint64_t limited = 0;
  for (Word bucket = 0; bucket < region.bucket_count(); ++bucket) {
    for (Slot& slot : region.bucket(bucket).slots)
      limited += is_limited(load(slot.state));
  }
  return limited;
}

inline std::optional<HistoryEntry> find(const Region& region, std::uint64_t key) {
  constexpr Uninterrupted steps;
  return find_entry(region, key_number(key), steps);
}

inline bool any_locked(const Region& region) {
  for (Word i = 0; i < region.bucket_count(); ++i) {
    if (is_locked(load(region.bucket(i).control))) return true;
  }
  return false;
}

inline std::uint64_t occupied_slots(const Region& region) {
  std::uint64_t occupied = 0;
  for (Word i = 0; i < region.bucket_count(); ++i) {
    for (const Slot& slot : region.bucket(i).slots)
      occupied += load(slot.state) != 0;
  }
  return occupied;
}

// A writer over numbered keys.
template <class Steps>
class Hand {
 public:
  Hand(const Region& region, WriterSlot writer, Steps& steps) : editor_(region, writer, steps) {}

  UpdateOutcome update(std::uint64_t key, Sigma sigma, Room room = Room::any) {
    return editor_.update(key_number(key), answer_for(key, sigma), sigma, kSigmaMax, room);
  }
  UpdateOutcome update_key(const Sketch& key, Sigma sigma) {
    return editor_.update(key, answer_for(0, sigma), sigma);
  }
  ChangeOutcome set_mark(std::uint64_t key, Mark mark) {
    return editor_.set_mark(key_number(key), mark);
  }
  ChangeOutcome erase(std::uint64_t key) { return editor_.erase(key_number(key)); }
  SeedOutcome seed(std::uint64_t key, Sigma sigma) {
    return editor_.seed(
        {tag_of(key_number(key)), answer_for(key, sigma), make_state(sigma, Room::any)});
  }
  HandedOutcome take_handed(std::uint64_t key, Sigma sigma, Sigma barrier, Room room = Room::any) {
    return editor_.take_handed(
        {tag_of(key_number(key)), answer_for(key, sigma), make_state(sigma, room)}, barrier);
  }
  // All of them, or those of one key's partition.
  [[nodiscard]] ChangeOutcome erase_in_bucket(Word index,
                                              std::optional<std::uint64_t> key = std::nullopt) {
    return editor_.erase_in_bucket(index, [&](const Tag& tag) {
      return !key || partition_of(tag) == partition_of(tag_of(key_number(*key)));
    });
  }
  void hold_still(bool is_still) { editor_.hold_still(is_still); }
  void clean_up() { editor_.clean_up(); }

 private:
  Editor<Steps> editor_;
};

inline constexpr Uninterrupted kUninterrupted{};

inline Hand<const Uninterrupted> steady_hand(const Region& region, WriterSlot writer) {
  return {region, writer, kUninterrupted};
}

// Thrown through a change to abandon it, as a kill would.
struct Abandoned {};

struct StopAfter {
  std::size_t steps_left;
  void step() {
    if (steps_left == 0) throw Abandoned{};
    --steps_left;
  }
};

}  // namespace prophecy::table

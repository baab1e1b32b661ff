// The table's memory, word by word. All of it is 64-bit words that several processes load and
// store at once, so nothing here is read or written but through load() and store().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "history_table/history_entry.hpp"

namespace prophecy::table {

using Word = std::uint64_t;
static_assert(std::atomic_ref<Word>::is_always_lock_free);

constexpr std::size_t kSlotsPerBucket = 8;

// An entry's body; half a cache line. Nothing when `state` is 0.
struct Slot {
  std::array<Word, 3> sketches;  // 20 bytes of the answer, 4 of the key's tag
  Word state;                    // sigma << 2 | mark, or 3: no mark, and limited room
};
static_assert(sizeof(Slot) == 32);

// Five cache lines; the first one tells whether a key may be here, and where there is room. One
// writer at a time, the one that `control` names.
struct alignas(64) Bucket {
  Word control;
  Word floor;                        // the newest sigma that was forgotten here, or refused
  std::array<Word, 4> fingerprints;  // of the slots, 32 bits each; 0: the slot is empty
  std::array<Word, 2> middles;       // 16 more bits of each slot's tag
  std::array<Slot, kSlotsPerBucket> slots;
};
static_assert(sizeof(Bucket) == 320);

// A change holds the two buckets of its key, and one that an entry makes room into.
constexpr std::size_t kHeldMax = 3;

// What a writer is doing, for whoever has to clean up after it; stored by that writer alone
// while it lives, by the master once it is dead.
struct alignas(128) WriterRecord {
  std::array<Word, kHeldMax> held;  // buckets that it locks, or has locked
  Word change;                      // Change, encoded: the slot that it writes
  Word entries_without;             // `entries` if that slot were empty
  Word entries;                     // inserted minus removed by this writer, modulo 2^64
  Word evictions;
  Word recoveries;  // writers that died in this place and held a lock
  // As entries_without and entries, of those alone whose room is limited.
  Word limited_without;
  Word limited;
  // Used in the first record alone, for all writers: not 0 while no entry may move to its other
  // bucket.
  Word still;
};
static_assert(sizeof(WriterRecord) == 128);
constexpr std::size_t kWriterRecords = kWriterSlotMax + 1;

// ---- Access. Every load acquires and every store releases: the argument in
// docs/history-table.md needs stores seen in program order, and nothing stronger.

inline Word load(const Word& word) {
  return std::atomic_ref(const_cast<Word&>(word)).load(std::memory_order_acquire);
}

// The only place of the table's stores. `steps` is told before each of them: tests stop a
// writer there, or look on.
template <class Steps>
void store(Steps& steps, Word& word, Word value) {
  steps.step();
  std::atomic_ref(word).store(value, std::memory_order_release);
}

// The Steps of production.
struct Uninterrupted {
  static void step() {}
};

// ---- Slot::state

constexpr Word kLimitedRoom = 3;

constexpr Word make_state(Sigma sigma, Mark mark) {
  return sigma << 2 | static_cast<Word>(mark);
}
// Without a mark.
constexpr Word make_state(Sigma sigma, Room room) {
  return sigma << 2 | (room == Room::limited ? kLimitedRoom : 0);
}
constexpr bool is_limited(Word state) {
  return (state & 3) == kLimitedRoom;
}
constexpr Sigma sigma_of(Word state) {
  return state >> 2;
}
constexpr Mark mark_of(Word state) {
  return is_limited(state) ? Mark::none : static_cast<Mark>(state & 3);
}

// ---- Parts of words: `fingerprints` and `middles` hold several slots' each.

template <unsigned kBits>
struct Lanes {
  static constexpr std::size_t kPerWord = 64 / kBits;
  static constexpr Word kMask = (Word{1} << kBits) - 1;

  static constexpr std::size_t word_of(std::size_t slot) { return slot / kPerWord; }
  static constexpr unsigned shift_of(std::size_t slot) {
    return static_cast<unsigned>(slot % kPerWord) * kBits;
  }
  static constexpr Word get(Word word, std::size_t slot) { return word >> shift_of(slot) & kMask; }
  static constexpr Word with(Word word, std::size_t slot, Word value) {
    return (word & ~(kMask << shift_of(slot))) | value << shift_of(slot);
  }
};
using FingerprintLanes = Lanes<32>;
using MiddleLanes = Lanes<16>;
static_assert(kSlotsPerBucket == 4 * FingerprintLanes::kPerWord);
static_assert(kSlotsPerBucket == 2 * MiddleLanes::kPerWord);

// ---- WriterRecord::change

struct Change {
  bool has_slot = false;  // false: buckets are (or are about to be) locked, no slot written
  std::size_t held = 0;   // which of WriterRecord::held
  std::size_t slot = 0;
};

constexpr Word encode(const Change& change) {
  return Word{change.held} << 4 | Word{change.slot} << 1 | Word{change.has_slot};
}
constexpr Change decode_change(Word word) {
  return {(word & 1) != 0, static_cast<std::size_t>(word >> 4 & 3),
          static_cast<std::size_t>(word >> 1 & 7)};
}

}  // namespace prophecy::table

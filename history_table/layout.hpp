// The table's memory, word by word. All of it is 64-bit words that several processes load and
// store at once, so nothing here is read or written but through load() and store().
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "history_table/history_entry.hpp"

namespace prophecy::table {

using Word = std::uint64_t;
static_assert(std::atomic_ref<Word>::is_always_lock_free);

constexpr std::size_t kSlotsPerBucket = 5;

// An entry, or nothing when `state` is 0.
struct Slot {
  std::array<Word, 5> sketches;  // 20 bytes of the key, 20 bytes of the answer
  Word state;                    // sigma << 2 | mark, or 3: no mark, and limited room
};

// Four cache lines. One writer at a time, the one that `control` names.
struct alignas(256) Bucket {
  Word control;
  Word floor;  // the newest sigma that was forgotten here, or refused for want of a slot
  std::array<Slot, kSlotsPerBucket> slots;
};
static_assert(sizeof(Bucket) == 256);

// What a writer is doing, for whoever has to clean up after it; stored by that writer alone
// while it lives, by the master once it is dead.
struct alignas(64) WriterRecord {
  Word change;          // Change, encoded: the bucket it locks, and the slot it writes
  Word entries_before;  // `entries` before the change of that slot
  Word entries;         // inserted minus removed by this writer, modulo 2^64
  Word evictions;
  Word recoveries;  // locks taken from writers that died in this place
  // As entries_before and entries, of those alone whose room is limited.
  Word limited_before;
  Word limited;
};
static_assert(sizeof(WriterRecord) == 64);
constexpr std::size_t kWriterRecords = kWriterSlotMax + 1;

// ---- Access. Every load acquires and every store releases: the argument in
// docs/history-table.md needs stores seen in program order, and nothing stronger.

inline Word load(Word& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
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

// ---- Slot::sketches

inline std::array<Word, 5> pack(const Sketch& key, const Sketch& answer) {
  std::array<Word, 5> words;
  static_assert(sizeof(words) == sizeof(key) + sizeof(answer));
  auto* const bytes = reinterpret_cast<std::uint8_t*>(words.data());
  std::memcpy(bytes, key.data(), key.size());
  std::memcpy(bytes + key.size(), answer.data(), answer.size());
  return words;
}

inline Sketch key_of(const std::array<Word, 5>& words) {
  Sketch key;
  std::memcpy(key.data(), words.data(), key.size());
  return key;
}

inline Sketch answer_of(const std::array<Word, 5>& words) {
  Sketch answer;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(words.data());
  std::memcpy(answer.data(), bytes + answer.size(), answer.size());
  return answer;
}

// ---- WriterRecord::change

struct Change {
  Word bucket = 0;
  bool has_slot = false;  // false: the bucket is (or is about to be) locked, no slot written
  std::size_t slot = 0;
  bool was_occupied = false;  // the slot held an entry before
  bool was_limited = false;   // and that one's room was limited
};

constexpr Word encode(const Change& change) {
  return change.bucket << 6 | Word{change.was_limited} << 5 | Word{change.was_occupied} << 4 |
         Word{change.slot} << 1 | Word{change.has_slot};
}
constexpr Change decode_change(Word word) {
  return {word >> 6, (word & 1) != 0, static_cast<std::size_t>(word >> 1 & 7), (word >> 4 & 1) != 0,
          (word >> 5 & 1) != 0};
}

}  // namespace prophecy::table

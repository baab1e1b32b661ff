// A change under the locks of its buckets: the stores that it is made of, in the order that lets
// another process clean up after any of them. Whichever slot is being written is named first, and
// is emptied if the writer dies. There is deliberately no destructor that unlocks: an abandoned
// change is what a killed process leaves.
#pragma once

#include <algorithm>
#include <bit>
#include <ctime>
#include <optional>

#include <sched.h>

#include "base/assert.hpp"
#include "history_table/control.hpp"
#include "history_table/find_entry.hpp"
#include "history_table/region.hpp"

namespace prophecy::table {

enum class Patience : std::uint8_t {
  endless,  // until the owner is through, or was declared dead
  bounded,  // some milliseconds at the most
};

// A slot of a bucket that is held.
struct Place {
  std::size_t held = 0;  // which of the buckets
  std::size_t slot = 0;
};

template <class Steps>
class BucketChange {
 public:
  BucketChange(const Region& region, WriterSlot writer, Steps& steps)
      : region_(region), writer_(writer), record_(region.writer(writer)), steps_(steps) {}

  // The key's buckets, held as 0 and, unless it is the same one, 1. False if the patience was
  // bounded, and in vain; then nothing is held, and nothing else may be called.
  [[nodiscard]] bool lock(const KeyPlace& place, Patience patience);
  // One more, unless another writer holds it: who holds a lock must not wait for one out of order.
  [[nodiscard]] bool try_lock(Word index);
  // Goes on with what this writer's record says, if it died with a lock. False if it did not.
  [[nodiscard]] bool take_over();
  void unlock_last();
  void unlock();

  // ---- Under the locks:
  [[nodiscard]] std::size_t held() const { return held_; }
  [[nodiscard]] Word index(std::size_t held) const { return index_[held]; }
  [[nodiscard]] Word state(Place at) const { return load(slot(at).state); }
  [[nodiscard]] Sketch answer(Place at) const { return answer_of(sketches(at)); }
  [[nodiscard]] Tag tag(Place at) const;
  [[nodiscard]] std::optional<Place> find(const Tag& tag) const;
  // In the bucket that has more of them.
  [[nodiscard]] std::optional<Place> find_empty() const;
  // The slot of an entry whose room is limited.
  [[nodiscard]] std::optional<Place> find_limited() const;
  // True if it was read since this was last asked.
  [[nodiscard]] bool take_reference(Place at);
  // The slot to give up, by the second-chance rule; none if all are marked.
  [[nodiscard]] std::optional<Place> find_victim();
  // What was forgotten where the key's entry may have been.
  [[nodiscard]] Sigma floor() const;

  // Nothing older than `sigma` will be inserted for the keys of this bucket from now on.
  void raise_floor(std::size_t held, Sigma sigma);
  // Whatever answer the slot had is forgotten.
  void write(Place at, const Tag& tag, const Sketch& answer, Word state);
  void clear(Place at);
  // To an empty slot of its entry's other bucket; leaves `from` empty.
  void move(Place from, Place to);
  // For take_over(): empties the slot that the dead writer was at, if any.
  void clear_recorded();
  void count(Word& counter) { store(steps_, counter, load(counter) + 1); }

 private:
  static constexpr unsigned kSpins = 64;
  // Of bounded patience; sleeps, since on a busy machine to yield may take as long as one likes.
  static constexpr unsigned kSleepsMax = 50;
  static constexpr timespec kSleep{0, 100'000};

  [[nodiscard]] Bucket& bucket(std::size_t held) const { return region_.bucket(index_[held]); }
  [[nodiscard]] Slot& slot(Place at) const { return bucket(at.held).slots[at.slot]; }
  [[nodiscard]] SlotSketches sketches(Place at) const;
  [[nodiscard]] bool is_referenced(Place at) const {
    return (load(bucket(at.held).control) & referenced_bit(at.slot)) != 0;
  }
  [[nodiscard]] bool wait_for(std::size_t held, Patience patience);
  bool take_if_free(Word index);
  void unlock_one(std::size_t held);
  // What the writer's counts are when a slot is empty.
  struct Counts {
    Word entries;
    Word limited;
  };
  [[nodiscard]] Counts counts_without(Word state) const {
    return {load(record_.entries) - Word{state != 0},
            load(record_.limited) - Word{is_limited(state)}};
  }
  void name(Place at, const Counts& without);
  void fill(Place at, const Tag& tag, const SlotSketches& sketches, Word state);
  void empty(Place at);
  void drop_reference(Place at);
  void store_if_other(Word& word, Word value) {
    if (load(word) != value) store(steps_, word, value);
  }

  const Region& region_;
  const WriterSlot writer_;
  WriterRecord& record_;
  Steps& steps_;
  std::size_t held_ = 0;
  std::array<Word, kHeldMax> index_{};
  // A slot was written: readers that looked meanwhile must look again.
  std::array<bool, kHeldMax> changed_{};
};

// How many slots of a bucket are empty. Exact for who holds it.
[[nodiscard]] inline unsigned room_in(const Bucket& bucket) {
  constexpr Uninterrupted kSteps;
  return static_cast<unsigned>(std::popcount(slots_with(bucket, 0, kSteps)));
}

template <class Steps>
bool BucketChange<Steps>::lock(const KeyPlace& place, Patience patience) {
  index_ = {place.first, place.second};
  held_ = place.first == place.second ? 1 : 2;
  // All at once; one after the other, each would have to come from memory.
  for (std::size_t i = 0; i < held_; ++i) {
    for (std::size_t line = 0; line < sizeof(Bucket); line += 64)
      __builtin_prefetch(reinterpret_cast<const std::byte*>(&bucket(i)) + line, 1);
  }
  // Before the locks: a process that dies right after taking one must have said where it is, and
  // must not be taken to be where it was before.
  store_if_other(record_.change, encode({}));
  for (std::size_t i = 0; i < held_; ++i)
    store_if_other(record_.held[i], index_[i]);
  // In the order of their numbers, so that no two writers wait for each other.
  const std::size_t lower = held_ == 2 && index_[1] < index_[0] ? 1 : 0;
  if (!wait_for(lower, patience)) return false;
  if (held_ == 1 || wait_for(1 - lower, patience)) return true;
  unlock_one(lower);
  return false;
}

template <class Steps>
bool BucketChange<Steps>::take_if_free(Word index) {
  Word& control = region_.bucket(index).control;
  Word seen = load(control);
  while (!is_locked(seen)) {
    // All but version and referenced bits are 0 while nobody holds the lock.
    steps_.step();
    if (std::atomic_ref(control).compare_exchange_weak(
            seen, seen | lock_bits(writer_), std::memory_order_acq_rel, std::memory_order_acquire))
      return true;
  }
  ASSERT(owner_of(seen) != writer_);
  return false;
}

template <class Steps>
bool BucketChange<Steps>::wait_for(std::size_t held, Patience patience) {
  for (unsigned round = 0; !take_if_free(index_[held]); ++round) {
    if (round < kSpins) {
      pause_briefly();
    } else if (patience == Patience::endless) {
      ::sched_yield();
    } else if (round < kSpins + kSleepsMax) {
      ::nanosleep(&kSleep, nullptr);
    } else {
      return false;
    }
  }
  return true;
}

template <class Steps>
bool BucketChange<Steps>::try_lock(Word index) {
  ASSERT(held_ < kHeldMax);
  for (std::size_t i = 0; i < held_; ++i)
    ASSERT(index_[i] != index);
  index_[held_] = index;
  store_if_other(record_.held[held_], index);
  if (!take_if_free(index)) return false;
  ++held_;
  return true;
}

template <class Steps>
bool BucketChange<Steps>::take_over() {
  for (std::size_t i = 0; i < kHeldMax; ++i)
    index_[i] = load(record_.held[i]);
  held_ = kHeldMax;
  // Had it only announced a lock, or let go of it already, someone else's may be there.
  for (std::size_t i = 0; i < kHeldMax; ++i) {
    if (is_locked_by(load(bucket(i).control), writer_)) return true;
  }
  return false;
}

template <class Steps>
void BucketChange<Steps>::unlock_last() {
  unlock_one(--held_);
}

template <class Steps>
void BucketChange<Steps>::unlock() {
  while (held_ != 0)
    unlock_last();
}

template <class Steps>
void BucketChange<Steps>::unlock_one(std::size_t held) {
  // After a death a bucket may be recorded that was not held, or recorded twice.
  if (!is_locked_by(load(bucket(held).control), writer_)) return;
  // Clears lock and owner and advances the version, and leaves the bits that readers set alone.
  const Word version = changed_[held] ? kVersionOne : 0;
  steps_.step();
  std::atomic_ref(bucket(held).control)
      .fetch_add(version - lock_bits(writer_), std::memory_order_acq_rel);
}

template <class Steps>
SlotSketches BucketChange<Steps>::sketches(Place at) const {
  SlotSketches words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = load(slot(at).sketches[i]);
  return words;
}

template <class Steps>
Tag BucketChange<Steps>::tag(Place at) const {
  const Bucket& from = bucket(at.held);
  const Word fingerprints = load(from.fingerprints[FingerprintLanes::word_of(at.slot)]);
  const Word middles = load(from.middles[MiddleLanes::word_of(at.slot)]);
  return {static_cast<std::uint32_t>(FingerprintLanes::get(fingerprints, at.slot)),
          static_cast<std::uint16_t>(MiddleLanes::get(middles, at.slot)),
          rest_of(load(slot(at).sketches.back()))};
}

template <class Steps>
std::optional<Place> BucketChange<Steps>::find(const Tag& tag) const {
  constexpr Uninterrupted kSteps;
  for (std::size_t i = 0; i < held_; ++i) {
    unsigned slots = slots_with(bucket(i), tag.fingerprint, kSteps);
    for (; slots != 0; slots &= slots - 1) {
      const auto slot = static_cast<std::size_t>(std::countr_zero(slots));
      if (look(bucket(i), slot, tag, kSteps).state != 0) return Place{i, slot};
    }
  }
  return std::nullopt;
}

template <class Steps>
std::optional<Place> BucketChange<Steps>::find_empty() const {
  constexpr Uninterrupted kSteps;
  std::optional<Place> best;
  int most = 0;
  for (std::size_t i = 0; i < held_; ++i) {
    const unsigned slots = slots_with(bucket(i), 0, kSteps);
    if (std::popcount(slots) <= most) continue;
    most = std::popcount(slots);
    best = Place{i, static_cast<std::size_t>(std::countr_zero(slots))};
  }
  return best;
}

template <class Steps>
std::optional<Place> BucketChange<Steps>::find_limited() const {
  for (std::size_t i = 0; i < held_; ++i) {
    for (std::size_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      if (is_limited(state({i, slot}))) return Place{i, slot};
    }
  }
  return std::nullopt;
}

template <class Steps>
bool BucketChange<Steps>::take_reference(Place at) {
  const bool referenced = is_referenced(at);
  if (referenced) drop_reference(at);
  return referenced;
}

template <class Steps>
std::optional<Place> BucketChange<Steps>::find_victim() {
  // The hand of the clock goes round all the slots, from wherever the versions have come to.
  Word hand = 0;
  for (std::size_t i = 0; i < held_; ++i)
    hand += version_of(load(bucket(i).control));
  const std::size_t slots = held_ * kSlotsPerBucket;
  for (std::size_t turn = 0; turn < 2 * slots; ++turn) {
    const std::size_t place = (hand + turn) % slots;
    const Place at{place / kSlotsPerBucket, place % kSlotsPerBucket};
    if (mark_of(state(at)) != Mark::none) continue;
    // Once round, whatever readers do meanwhile.
    if (turn >= slots || !is_referenced(at)) return at;
    drop_reference(at);
  }
  return std::nullopt;
}

template <class Steps>
Sigma BucketChange<Steps>::floor() const {
  Sigma newest = 0;
  for (std::size_t i = 0; i < held_; ++i)
    newest = std::max(newest, load(bucket(i).floor));
  return newest;
}

template <class Steps>
void BucketChange<Steps>::raise_floor(std::size_t held, Sigma sigma) {
  if (load(bucket(held).floor) < sigma) store(steps_, bucket(held).floor, sigma);
}

template <class Steps>
void BucketChange<Steps>::write(Place at, const Tag& tag, const Sketch& answer, Word state_word) {
  const Counts without = counts_without(state(at));
  drop_reference(at);
  name(at, without);
  fill(at, tag, pack(tag, answer), state_word);
  store_if_other(record_.entries, without.entries + 1);
  store_if_other(record_.limited, without.limited + Word{is_limited(state_word)});
}

template <class Steps>
void BucketChange<Steps>::clear(Place at) {
  const Counts without = counts_without(state(at));
  drop_reference(at);
  name(at, without);
  empty(at);
  store_if_other(record_.entries, without.entries);
  store_if_other(record_.limited, without.limited);
}

template <class Steps>
void BucketChange<Steps>::move(Place from, Place to) {
  const bool was_referenced = is_referenced(from);
  const Counts counts = counts_without(0);
  // First the copy is what a death undoes, then, by one store, the original: there are never both
  // for anyone who does not hold these locks.
  name(to, counts);
  fill(to, tag(from), sketches(from), state(from));
  name(from, counts);
  empty(from);
  drop_reference(from);
  if (!was_referenced) return;
  steps_.step();
  std::atomic_ref(bucket(to.held).control)
      .fetch_or(referenced_bit(to.slot), std::memory_order_relaxed);
}

template <class Steps>
void BucketChange<Steps>::clear_recorded() {
  const Change change = decode_change(load(record_.change));
  changed_ = {true, true, true};
  if (!change.has_slot || !is_locked_by(load(bucket(change.held).control), writer_)) return;
  const Place at{change.held, change.slot};
  // Its sigma is the old entry's or the new one's, whole in either case. The old one's is
  // covered by the floor when an entry of another key was to take its place.
  raise_floor(at.held, sigma_of(state(at)));
  empty(at);
  store_if_other(record_.entries, load(record_.entries_without));
  store_if_other(record_.limited, load(record_.limited_without));
}

// From here on the slot is emptied if this writer dies. What the counts are then is the same for
// all slots that one change names: they are stored before the name.
template <class Steps>
void BucketChange<Steps>::name(Place at, const Counts& without) {
  changed_[at.held] = true;
  store_if_other(record_.entries_without, without.entries);
  store_if_other(record_.limited_without, without.limited);
  store_if_other(record_.change, encode({true, at.held, at.slot}));
}

template <class Steps>
void BucketChange<Steps>::fill(Place at, const Tag& tag, const SlotSketches& sketches,
                               Word state_word) {
  Bucket& into = bucket(at.held);
  Word& fingerprints = into.fingerprints[FingerprintLanes::word_of(at.slot)];
  Word& middles = into.middles[MiddleLanes::word_of(at.slot)];
  store_if_other(fingerprints,
                 FingerprintLanes::with(load(fingerprints), at.slot, tag.fingerprint));
  store_if_other(middles, MiddleLanes::with(load(middles), at.slot, tag.middle));
  for (std::size_t i = 0; i < sketches.size(); ++i)
    store_if_other(slot(at).sketches[i], sketches[i]);
  store_if_other(slot(at).state, state_word);
}

template <class Steps>
void BucketChange<Steps>::empty(Place at) {
  Word& fingerprints = bucket(at.held).fingerprints[FingerprintLanes::word_of(at.slot)];
  store_if_other(slot(at).state, 0);
  store_if_other(fingerprints, FingerprintLanes::with(load(fingerprints), at.slot, 0));
}

template <class Steps>
void BucketChange<Steps>::drop_reference(Place at) {
  if (!is_referenced(at)) return;
  steps_.step();
  std::atomic_ref(bucket(at.held).control)
      .fetch_and(~referenced_bit(at.slot), std::memory_order_relaxed);
}

}  // namespace prophecy::table

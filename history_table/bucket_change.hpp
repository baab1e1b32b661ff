// One bucket under its lock: the stores that a change is made of, in the order that lets another
// process clean up after any of them. A change writes at most one slot. There is deliberately no
// destructor that unlocks: an abandoned change is what a killed process leaves.
#pragma once

#include <optional>

#include "base/assert.hpp"
#include "history_table/control.hpp"
#include "history_table/region.hpp"

namespace prophecy::table {

enum class Patience : std::uint8_t {
  endless,  // until the owner is through, or was declared dead
  bounded,  // some milliseconds at the most
};

template <class Steps>
class BucketChange {
 public:
  BucketChange(const Region& region, WriterSlot writer, Steps& steps)
      : region_(region), writer_(writer), record_(region.writer(writer)), steps_(steps) {}

  // False if the patience was bounded, and in vain; then nothing else may be called.
  [[nodiscard]] bool lock(Word index, Patience patience);
  // Goes on with what this writer's record says, if it died with a lock. False if it did not.
  [[nodiscard]] bool take_over();
  void unlock();

  // ---- Under the lock:
  [[nodiscard]] Word state(std::size_t slot) const { return load(bucket_->slots[slot].state); }
  [[nodiscard]] Sketch answer(std::size_t slot) const {
    std::array<Word, 5> words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = load(bucket_->slots[slot].sketches[i]);
    return answer_of(words);
  }
  [[nodiscard]] Sigma floor() const { return load(bucket_->floor); }
  [[nodiscard]] std::optional<std::size_t> find(const Sketch& key) const;
  [[nodiscard]] std::optional<std::size_t> find_empty() const;
  // The slot of an entry whose room is limited.
  [[nodiscard]] std::optional<std::size_t> find_limited() const;
  // True if it was read since this was last asked.
  [[nodiscard]] bool take_reference(std::size_t slot);
  // The slot to give up, by the second-chance rule; none if all are marked.
  [[nodiscard]] std::optional<std::size_t> find_victim();

  // Nothing older than `sigma` will be inserted into this bucket from now on.
  void raise_floor(Sigma sigma);
  // Whatever answer the slot had is forgotten. Once a change.
  void write(std::size_t slot, const Sketch& key, const Sketch& answer, Word state);
  void clear(std::size_t slot);
  // For take_over(): empties the slot that the dead writer was at, if any.
  void clear_recorded();
  void count(Word& counter) { store(steps_, counter, load(counter) + 1); }

 private:
  static constexpr unsigned kSpins = 64;
  static constexpr unsigned kYieldsMax = 4096;

  void begin(std::size_t slot);
  void drop_reference(std::size_t slot);
  void store_if_other(Word& word, Word value) {
    if (load(word) != value) store(steps_, word, value);
  }

  const Region& region_;
  const WriterSlot writer_;
  WriterRecord& record_;
  Steps& steps_;
  Bucket* bucket_ = nullptr;
  Word index_ = 0;
  bool changed_ = false;  // a slot was written: readers that looked meanwhile must look again
};

template <class Steps>
bool BucketChange<Steps>::lock(Word index, Patience patience) {
  index_ = index;
  bucket_ = &region_.bucket(index);
  // Before the lock: a process that dies right after taking it must have said where it is.
  store(steps_, record_.change, encode({.bucket = index}));
  for (unsigned round = 0;; ++round) {
    Word control = load(bucket_->control);
    if (!is_locked(control)) {
      // All but version and referenced bits are 0 while nobody holds the lock.
      const Word locked = control | lock_bits(writer_);
      steps_.step();
      if (std::atomic_ref(bucket_->control)
              .compare_exchange_strong(control, locked, std::memory_order_acq_rel)) {
        return true;
      }
      continue;
    }
    ASSERT(owner_of(control) != writer_);
    if (round < kSpins) {
      pause_briefly();
    } else if (patience == Patience::bounded && round >= kSpins + kYieldsMax) {
      return false;
    } else {
      ::sched_yield();
    }
  }
}

template <class Steps>
bool BucketChange<Steps>::take_over() {
  index_ = decode_change(load(record_.change)).bucket;
  bucket_ = &region_.bucket(index_);
  // Had it only announced the lock, or let go of it already, someone else's may be here.
  return is_locked_by(load(bucket_->control), writer_);
}

template <class Steps>
void BucketChange<Steps>::unlock() {
  // Clears lock and owner and advances the version, and leaves the bits that readers set alone.
  const Word version = changed_ ? kVersionOne : 0;
  steps_.step();
  std::atomic_ref(bucket_->control)
      .fetch_add(version - lock_bits(writer_), std::memory_order_acq_rel);
}

template <class Steps>
std::optional<std::size_t> BucketChange<Steps>::find(const Sketch& key) const {
  for (std::size_t i = 0; i < kSlotsPerBucket; ++i) {
    Slot& slot = bucket_->slots[i];
    if (load(slot.state) == 0) continue;
    const std::array<Word, 5> words{load(slot.sketches[0]), load(slot.sketches[1]),
                                    load(slot.sketches[2]), 0, 0};
    if (key_of(words) == key) return i;
  }
  return std::nullopt;
}

template <class Steps>
std::optional<std::size_t> BucketChange<Steps>::find_empty() const {
  for (std::size_t i = 0; i < kSlotsPerBucket; ++i) {
    if (state(i) == 0) return i;
  }
  return std::nullopt;
}

template <class Steps>
std::optional<std::size_t> BucketChange<Steps>::find_limited() const {
  for (std::size_t i = 0; i < kSlotsPerBucket; ++i) {
    if (is_limited(state(i))) return i;
  }
  return std::nullopt;
}

template <class Steps>
bool BucketChange<Steps>::take_reference(std::size_t slot) {
  const bool referenced = (load(bucket_->control) & referenced_bit(slot)) != 0;
  if (referenced) drop_reference(slot);
  return referenced;
}

template <class Steps>
std::optional<std::size_t> BucketChange<Steps>::find_victim() {
  // The hand of the clock starts wherever the version has come to.
  const Word control = load(bucket_->control);
  Word referenced = control & kReferencedMask;
  for (std::size_t turn = 0; turn < 2 * kSlotsPerBucket; ++turn) {
    const std::size_t slot = (version_of(control) + turn) % kSlotsPerBucket;
    if (mark_of(state(slot)) != Mark::none) continue;
    if ((referenced & referenced_bit(slot)) == 0) return slot;
    referenced &= ~referenced_bit(slot);
    drop_reference(slot);
  }
  return std::nullopt;
}

template <class Steps>
void BucketChange<Steps>::raise_floor(Sigma sigma) {
  if (floor() < sigma) store(steps_, bucket_->floor, sigma);
}

template <class Steps>
void BucketChange<Steps>::write(std::size_t slot, const Sketch& key, const Sketch& answer,
                                Word state_word) {
  const Word before = state(slot);
  begin(slot);
  const std::array<Word, 5> words = pack(key, answer);
  for (std::size_t i = 0; i < words.size(); ++i) {
    store_if_other(bucket_->slots[slot].sketches[i], words[i]);
  }
  store_if_other(bucket_->slots[slot].state, state_word);
  if (before == 0) store(steps_, record_.entries, load(record_.entries) + 1);
  store_if_other(record_.limited,
                 load(record_.limited) + Word{is_limited(state_word)} - Word{is_limited(before)});
}

template <class Steps>
void BucketChange<Steps>::clear(std::size_t slot) {
  const Word before = state(slot);
  begin(slot);
  store(steps_, bucket_->slots[slot].state, 0);
  store(steps_, record_.entries, load(record_.entries) - 1);
  store_if_other(record_.limited, load(record_.limited) - Word{is_limited(before)});
}

template <class Steps>
void BucketChange<Steps>::clear_recorded() {
  const Change change = decode_change(load(record_.change));
  if (!change.has_slot) return;
  changed_ = true;
  // Its sigma is the old entry's or the new one's, whole in either case. The old one's is
  // covered by the floor when an entry of another key was to take its place.
  raise_floor(sigma_of(state(change.slot)));
  store_if_other(bucket_->slots[change.slot].state, 0);
  store_if_other(record_.entries, load(record_.entries_before) - Word{change.was_occupied});
  store_if_other(record_.limited, load(record_.limited_before) - Word{change.was_limited});
}

template <class Steps>
void BucketChange<Steps>::begin(std::size_t slot) {
  ASSERT(!changed_);
  changed_ = true;
  const Word before = state(slot);
  drop_reference(slot);
  store(steps_, record_.entries_before, load(record_.entries));
  store_if_other(record_.limited_before, load(record_.limited));
  store(steps_, record_.change, encode({index_, true, slot, before != 0, is_limited(before)}));
}

template <class Steps>
void BucketChange<Steps>::drop_reference(std::size_t slot) {
  if ((load(bucket_->control) & referenced_bit(slot)) == 0) return;
  steps_.step();
  std::atomic_ref(bucket_->control).fetch_and(~referenced_bit(slot), std::memory_order_relaxed);
}

}  // namespace prophecy::table

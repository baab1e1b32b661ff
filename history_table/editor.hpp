// The changes of the table, each one lock, at most one slot, one unlock. A template over Steps
// only for the tests that stop it midway; production uses Uninterrupted.
//
// Invariant, for every key: the newest sigma that update() was ever given for it is at most that
// of its entry, or at most its bucket's floor. So nothing older than what some client may have
// seen is taken, whatever was evicted, cleaned up or marked in between.
#pragma once

#include <algorithm>

#include "history_table/bucket_change.hpp"

namespace prophecy::table {

template <class Steps>
class Editor {
 public:
  Editor(const Region& region, WriterSlot writer, Steps& steps)
      : region_(region), writer_(writer), steps_(steps) {}

  // An entry newer than `asked` with another answer leaves open which is the newer of the two.
  UpdateOutcome update(const Sketch& key, const Sketch& answer, Sigma sigma,
                       Sigma asked = kSigmaMax) {
    ASSERT(sigma > 0 && sigma <= kSigmaMax);
    BucketChange<Steps> change(region_, writer_, steps_);
    const bool locked = change.lock(region_.bucket_index(key), Patience::endless);
    ASSERT(locked);
    const auto slot = change.find(key);
    const UpdateOutcome outcome = slot ? update_slot(change, *slot, key, answer, sigma, asked)
                                       : insert(change, key, answer, std::min(sigma, asked), sigma);
    change.unlock();
    return outcome;
  }

  ChangeOutcome set_mark(const Sketch& key, Mark mark) {
    BucketChange<Steps> change(region_, writer_, steps_);
    if (!change.lock(region_.bucket_index(key), Patience::bounded)) return ChangeOutcome::busy;
    const auto slot = change.find(key);
    ChangeOutcome outcome = ChangeOutcome::done;
    if (mark == Mark::none) {
      if (slot && mark_of(change.state(*slot)) != Mark::none) change.clear(*slot);
    } else if (!slot || change.state(*slot) != make_state(0, mark)) {
      const auto target = slot ? slot : make_room(change);
      if (target) {
        change.raise_floor(sigma_of(change.state(*target)));
        change.write(*target, key, Sketch{}, make_state(0, mark));
      } else {
        outcome = ChangeOutcome::full;
      }
    }
    change.unlock();
    return outcome;
  }

  ChangeOutcome erase(const Sketch& key) {
    BucketChange<Steps> change(region_, writer_, steps_);
    if (!change.lock(region_.bucket_index(key), Patience::bounded)) return ChangeOutcome::busy;
    const auto slot = change.find(key);
    if (slot && mark_of(change.state(*slot)) == Mark::none) {
      change.raise_floor(sigma_of(change.state(*slot)));
      change.clear(*slot);
    }
    change.unlock();
    return ChangeOutcome::done;
  }

  // `writer` has died: empties the slot it was at, and opens the bucket it held.
  void clean_up() {
    BucketChange<Steps> change(region_, writer_, steps_);
    if (!change.take_over()) return;
    change.clear_recorded();
    change.count(region_.writer(writer_).recoveries);
    change.unlock();
  }

 private:
  UpdateOutcome update_slot(BucketChange<Steps>& change, std::size_t slot, const Sketch& key,
                            const Sketch& answer, Sigma sigma, Sigma asked) {
    const Word state = change.state(slot);
    if (mark_of(state) != Mark::none) {
      change.raise_floor(sigma);
      return UpdateOutcome::marked;
    }
    if (sigma_of(state) > asked && change.answer(slot) != answer) {
      const Sigma newest = std::max(sigma, sigma_of(state));
      change.write(slot, key, Sketch{}, make_state(newest, Mark::none));
      return UpdateOutcome::unordered;
    }
    if (sigma <= sigma_of(state)) return UpdateOutcome::older;
    change.write(slot, key, answer, make_state(sigma, Mark::none));
    return UpdateOutcome::replaced;
  }

  // What was forgotten since `asked`, or since sigma, may have been newer.
  UpdateOutcome insert(BucketChange<Steps>& change, const Sketch& key, const Sketch& answer,
                       Sigma known, Sigma sigma) {
    // An equal sigma is the same position of the same history: the same answer.
    if (known < change.floor()) {
      change.raise_floor(sigma);
      return UpdateOutcome::older;
    }
    const auto slot = make_room(change);
    if (!slot) {
      change.raise_floor(sigma);
      return UpdateOutcome::full;
    }
    change.write(*slot, key, answer, make_state(sigma, Mark::none));
    return UpdateOutcome::inserted;
  }

  // An empty slot, or one whose entry may be overwritten now: its sigma is in the floor.
  std::optional<std::size_t> make_room(BucketChange<Steps>& change) {
    if (const auto empty = change.find_empty()) return empty;
    const auto victim = change.find_victim();
    if (!victim) return std::nullopt;
    change.raise_floor(sigma_of(change.state(*victim)));
    change.count(region_.writer(writer_).evictions);
    return victim;
  }

  const Region& region_;
  const WriterSlot writer_;
  Steps& steps_;
};

}  // namespace prophecy::table

// The changes of the table, each one lock, at most one slot, one unlock. A template over Steps
// only for the tests that stop it midway; production uses Uninterrupted.
//
// Invariant, for every key: the newest sigma that update() was ever given for it is at most that
// of its entry, or at most its bucket's floor. So nothing older than what some client may have
// seen is taken, whatever was evicted, cleaned up or marked in between.
#pragma once

#include <algorithm>

#include "history_table/bucket_change.hpp"
#include "history_table/find_entry.hpp"

namespace prophecy::table {

template <class Steps>
class Editor {
 public:
  Editor(const Region& region, WriterSlot writer, Steps& steps)
      : region_(region), writer_(writer), steps_(steps) {}

  // An entry newer than `asked` with another answer leaves open which is the newer of the two.
  UpdateOutcome update(const Sketch& key, const Sketch& answer, Sigma sigma,
                       Sigma asked = kSigmaMax, Room room = Room::any) {
    ASSERT(sigma > 0 && sigma <= kSigmaMax);
    const bool may_grow = room == Room::any || has_limited_room(region_.bucket_index(key), key);
    BucketChange<Steps> change(region_, writer_, steps_);
    const bool locked = change.lock(region_.bucket_index(key), Patience::endless);
    ASSERT(locked);
    const auto slot = change.find(key);
    const UpdateOutcome outcome =
        slot ? update_slot(change, *slot, key, answer, {sigma, asked, room, may_grow})
             : insert(change, key, answer, {sigma, asked, room, may_grow});
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
  // Of buckets, for an entry to give up: on the average every fourth has one then.
  static constexpr Word kLookedAtMax = 64;

  struct Given {
    Sigma sigma;
    Sigma asked;
    Room room;
    bool may_grow;  // those of limited room may become more
  };

  UpdateOutcome update_slot(BucketChange<Steps>& change, std::size_t slot, const Sketch& key,
                            const Sketch& answer, const Given& given) {
    const auto& [sigma, asked, room, may_grow] = given;
    const Word state = change.state(slot);
    if (mark_of(state) != Mark::none) {
      change.raise_floor(sigma);
      return UpdateOutcome::marked;
    }
    if (sigma_of(state) > asked && change.answer(slot) != answer) {
      const Sigma newest = std::max(sigma, sigma_of(state));
      change.write(slot, key, Sketch{}, make_state(newest, room));
      return UpdateOutcome::unordered;
    }
    if (sigma <= sigma_of(state)) return UpdateOutcome::older;
    // What has been there keeps its place, whatever its room is now.
    change.write(slot, key, answer, make_state(sigma, room));
    return UpdateOutcome::replaced;
  }

  // What was forgotten since `asked`, or since sigma, may have been newer.
  UpdateOutcome insert(BucketChange<Steps>& change, const Sketch& key, const Sketch& answer,
                       const Given& given) {
    const Sigma sigma = given.sigma;
    // An equal sigma is the same position of the same history: the same answer.
    if (std::min(sigma, given.asked) < change.floor()) {
      change.raise_floor(sigma);
      return UpdateOutcome::older;
    }
    const auto slot =
        given.room == Room::limited ? make_limited_room(change, given.may_grow) : make_room(change);
    if (!slot) {
      change.raise_floor(sigma);
      return UpdateOutcome::full;
    }
    change.write(*slot, key, answer, make_state(sigma, given.room));
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

  // The bucket's one place for such an entry: taken from the one that has it, unless that was read
  // lately.
  std::optional<std::size_t> make_limited_room(BucketChange<Steps>& change, bool may_grow) {
    const auto taken = change.find_limited();
    if (!taken) return may_grow ? make_room(change) : std::nullopt;
    if (change.take_reference(*taken)) return std::nullopt;
    change.raise_floor(sigma_of(change.state(*taken)));
    change.count(region_.writer(writer_).evictions);
    return taken;
  }

  // Whether one more of limited room may be inserted into the bucket, after another one elsewhere
  // was given up if need be. Looks without locks: what else happens meanwhile makes it one more or
  // less for each writer.
  [[nodiscard]] bool has_limited_room(Word index, const Sketch& key) {
    const bool is_replaced =
        find_entry(region_.bucket(index), key, steps_).has_value() || has_limited(index);
    return is_replaced || limited_entries(region_) < region_.limited_max() ||
           give_up_limited(index);
  }

  [[nodiscard]] bool has_limited(Word index) const {
    for (Slot& slot : region_.bucket(index).slots) {
      if (is_limited(load(slot.state))) return true;
    }
    return false;
  }

  // Evicts one that was not read lately out of the next buckets.
  [[nodiscard]] bool give_up_limited(Word index) {
    const Word looked_at = std::min(kLookedAtMax, region_.bucket_count() - 1);
    for (Word i = 1; i <= looked_at; ++i) {
      const Word other = (index + i) % region_.bucket_count();
      if (!has_limited(other)) continue;
      BucketChange<Steps> change(region_, writer_, steps_);
      if (!change.lock(other, Patience::bounded)) continue;
      const auto slot = change.find_limited();
      const bool gives_up = slot && !change.take_reference(*slot);
      if (gives_up) {
        change.raise_floor(sigma_of(change.state(*slot)));
        change.count(region_.writer(writer_).evictions);
        change.clear(*slot);
      }
      change.unlock();
      if (gives_up) return true;
    }
    return false;
  }

  const Region& region_;
  const WriterSlot writer_;
  Steps& steps_;
};

}  // namespace prophecy::table

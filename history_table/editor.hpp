// The changes of the table, each under the locks of its key's two buckets. A template over Steps
// only for the tests that stop it midway; production uses Uninterrupted.
//
// Invariants, for every key, while its buckets are not locked: it has one entry at most. The newest
// sigma that update() was ever given for it is at most that of its entry, or at most the floor of
// one of its buckets. So nothing older than what some client may have seen is taken, whatever was
// evicted, cleaned up or marked in between.
#pragma once

#include <algorithm>

#include "history_table/bucket_change.hpp"
#include "history_table/displacement.hpp"
#include "history_table/stored_entry.hpp"

namespace prophecy::table {

template <class Steps>
class Editor {
 public:
  Editor(const Region& region, WriterSlot writer, Steps& steps)
      : region_(region), writer_(writer), steps_(steps) {}

  // An entry newer than `asked` with another answer leaves open which is the newer of the two. So
  // does one without an answer, even if this is none either: what was not sketched may differ.
  UpdateOutcome update(const Sketch& key, const Sketch& answer, Sigma sigma,
                       Sigma asked = kSigmaMax, Room room = Room::any) {
    ASSERT(sigma > 0 && sigma <= kSigmaMax);
    const KeyPlace place = region_.place_of(key);
    const Growth growth = room == Room::any ? Growth::by_eviction : limited_growth(place, key);
    const Given given{sigma, asked, room, growth};
    BucketChange<Steps> change(region_, writer_, steps_);
    const bool locked = change.lock(place, Patience::endless);
    ASSERT(locked);
    const auto at = change.find(place.tag);
    const UpdateOutcome outcome = at ? update_slot(change, *at, place.tag, answer, given)
                                     : insert(change, place.tag, answer, given);
    change.unlock();
    return outcome;
  }

  ChangeOutcome set_mark(const Sketch& key, Mark mark) {
    BucketChange<Steps> change(region_, writer_, steps_);
    const KeyPlace place = region_.place_of(key);
    if (!change.lock(place, Patience::bounded)) return ChangeOutcome::busy;
    const auto at = change.find(place.tag);
    ChangeOutcome outcome = ChangeOutcome::done;
    if (mark == Mark::none) {
      if (at && mark_of(change.state(*at)) != Mark::none) change.clear(*at);
    } else if (!at || change.state(*at) != make_state(0, mark)) {
      const auto target = at ? at : make_room(change);
      if (target) {
        change.raise_floor(target->held, sigma_of(change.state(*target)));
        change.write(*target, place.tag, Sketch{}, make_state(0, mark));
      } else {
        outcome = ChangeOutcome::full;
      }
    }
    change.unlock();
    return outcome;
  }

  ChangeOutcome erase(const Sketch& key) {
    BucketChange<Steps> change(region_, writer_, steps_);
    const KeyPlace place = region_.place_of(key);
    if (!change.lock(place, Patience::bounded)) return ChangeOutcome::busy;
    const auto at = change.find(place.tag);
    if (at && mark_of(change.state(*at)) == Mark::none) {
      change.raise_floor(at->held, sigma_of(change.state(*at)));
      change.clear(*at);
    }
    change.unlock();
    return ChangeOutcome::done;
  }

  // Takes another table's entry where this one has never had an answer for the key: then nobody
  // whom it serves has seen a newer one. Where it has one, that is confirmed, or neither counts.
  // Evicts nothing. A mark is taken in the place of an answer, too.
  SeedOutcome seed(const StoredEntry& entry) {
    BucketChange<Steps> change(region_, writer_, steps_);
    const bool locked = change.lock(region_.place_of(entry.tag), Patience::endless);
    ASSERT(locked);
    const SeedOutcome outcome = seed(change, entry);
    change.unlock();
    return outcome;
  }

  // Takes an entry of another table into a gap: there is none, and none was forgotten whose sigma
  // lies beyond `barrier`. May evict another entry. Requires one without a mark.
  HandedOutcome take_handed(const StoredEntry& entry, Sigma barrier) {
    if (sigma_of(entry.state) > barrier) return HandedOutcome::beyond;
    BucketChange<Steps> change(region_, writer_, steps_);
    const bool locked = change.lock(region_.place_of(entry.tag), Patience::endless);
    ASSERT(locked);
    const HandedOutcome outcome = take_handed(change, entry, barrier);
    change.unlock();
    return outcome;
  }

  // Forgets all answers in one bucket whose tag is `wanted`; marks stay. One by one, each by a
  // change of its own: a change that is cleaned up after has one count, whichever slot it has
  // named.
  template <class Wanted>
  ChangeOutcome erase_in_bucket(Word index, Wanted wanted) {
    for (;;) {
      BucketChange<Steps> change(region_, writer_, steps_);
      if (!change.lock({Tag{}, index, index}, Patience::bounded)) return ChangeOutcome::busy;
      const auto at = find_answer(change, wanted);
      if (at) {
        change.raise_floor(at->held, sigma_of(change.state(*at)));
        change.clear(*at);
      }
      change.unlock();
      if (!at) return ChangeOutcome::done;
    }
  }

  // Whether entries may move to their other buckets.
  void hold_still(bool is_still) { store(steps_, region_.still(), Word{is_still}); }

  // `writer` has died: empties the slot it was at, and opens the buckets it held.
  void clean_up() {
    BucketChange<Steps> change(region_, writer_, steps_);
    if (!change.take_over()) return;
    change.clear_recorded();
    change.count(region_.writer(writer_).recoveries);
    change.unlock();
  }

 private:
  // Of buckets, for an entry to give up: on the average every second has one then.
  static constexpr Word kLookedAtMax = 64;

  // Where another entry may come to lie.
  enum class Growth : std::uint8_t {
    none,
    into_empty,  // evicts nothing
    by_eviction,
  };

  struct Given {
    Sigma sigma;
    Sigma asked;
    Room room;
    Growth growth;
  };

  SeedOutcome seed(BucketChange<Steps>& change, const StoredEntry& entry) {
    const bool is_mark = mark_of(entry.state) != Mark::none;
    auto at = change.find(entry.tag);
    if (at && mark_of(change.state(*at)) != Mark::none) return SeedOutcome::known;
    if (at && !is_mark) return merge(change, *at, entry);
    if (!is_mark && change.floor() != 0) return SeedOutcome::forgotten;
    if (is_limited(entry.state) && limited_entries(region_) >= region_.limited_max()) {
      return SeedOutcome::full;
    }
    if (!at) at = change.find_empty();
    if (!at) at = displace(region_, change);
    if (!at) return SeedOutcome::full;
    change.raise_floor(at->held, sigma_of(change.state(*at)));
    change.write(*at, entry.tag, entry.answer, entry.state);
    return SeedOutcome::taken;
  }

  // The first one in the bucket that is held.
  template <class Wanted>
  [[nodiscard]] static std::optional<Place> find_answer(const BucketChange<Steps>& change,
                                                        Wanted wanted) {
    for (std::size_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      const Place at{0, slot};
      const Word state = change.state(at);
      const bool is_answer = state != 0 && mark_of(state) == Mark::none;
      if (is_answer && wanted(change.tag(at))) return at;
    }
    return std::nullopt;
  }

  HandedOutcome take_handed(BucketChange<Steps>& change, const StoredEntry& entry, Sigma barrier) {
    if (change.find(entry.tag)) return HandedOutcome::known;
    if (change.floor() > barrier) return HandedOutcome::forgotten;
    const bool is_bounded = is_limited(entry.state);
    if (is_bounded && limited_entries(region_) >= region_.limited_max()) return HandedOutcome::full;
    const auto at = is_bounded ? make_limited_room(change, Growth::by_eviction) : make_room(change);
    if (!at) return HandedOutcome::full;
    change.write(*at, entry.tag, entry.answer, entry.state);
    return HandedOutcome::taken;
  }

  // Two histories that do not know of each other have an answer for one key.
  SeedOutcome merge(BucketChange<Steps>& change, Place at, const StoredEntry& entry) {
    const Word state = change.state(at);
    const Room room = is_limited(state) ? Room::limited : Room::any;
    const Sigma newest = std::max(sigma_of(state), sigma_of(entry.state));
    const bool agrees = change.answer(at) == entry.answer;
    change.write(at, entry.tag, agrees ? entry.answer : Sketch{}, make_state(newest, room));
    return agrees ? SeedOutcome::known : SeedOutcome::contradicted;
  }

  UpdateOutcome update_slot(BucketChange<Steps>& change, Place at, const Tag& tag,
                            const Sketch& answer, const Given& given) {
    const auto& [sigma, asked, room, growth] = given;
    const Word state = change.state(at);
    if (mark_of(state) != Mark::none) {
      change.raise_floor(at.held, sigma);
      return UpdateOutcome::marked;
    }
    const bool is_same = change.answer(at) == answer && answer != Sketch{};
    if (sigma_of(state) > asked && !is_same) {
      const Sigma newest = std::max(sigma, sigma_of(state));
      change.write(at, tag, Sketch{}, make_state(newest, room));
      return UpdateOutcome::unordered;
    }
    if (sigma <= sigma_of(state)) return UpdateOutcome::older;
    // What has been there keeps its place, whatever its room is now.
    change.write(at, tag, answer, make_state(sigma, room));
    return UpdateOutcome::replaced;
  }

  // What was forgotten since `asked`, or since sigma, may have been newer.
  UpdateOutcome insert(BucketChange<Steps>& change, const Tag& tag, const Sketch& answer,
                       const Given& given) {
    const Sigma sigma = given.sigma;
    // An equal sigma is the same position of the same history: the same answer.
    if (std::min(sigma, given.asked) < change.floor()) {
      change.raise_floor(0, sigma);
      return UpdateOutcome::older;
    }
    const auto at =
        given.room == Room::limited ? make_limited_room(change, given.growth) : make_room(change);
    if (!at) {
      change.raise_floor(0, sigma);
      return UpdateOutcome::full;
    }
    change.write(*at, tag, answer, make_state(sigma, given.room));
    return UpdateOutcome::inserted;
  }

  // An empty slot, or one whose entry may be overwritten now: its sigma is in the floor.
  std::optional<Place> make_room(BucketChange<Steps>& change) {
    if (const auto empty = change.find_empty()) return empty;
    if (const auto emptied = displace(region_, change)) return emptied;
    const auto victim = change.find_victim();
    if (!victim) return std::nullopt;
    change.raise_floor(victim->held, sigma_of(change.state(*victim)));
    change.count(region_.writer(writer_).evictions);
    return victim;
  }

  // The one place that two buckets have for such an entry: taken from the one that has it, unless
  // that was read lately.
  std::optional<Place> make_limited_room(BucketChange<Steps>& change, Growth growth) {
    const auto taken = change.find_limited();
    if (!taken) {
      if (growth == Growth::by_eviction) return make_room(change);
      return growth == Growth::into_empty ? change.find_empty() : std::nullopt;
    }
    if (change.take_reference(*taken)) return std::nullopt;
    change.raise_floor(taken->held, sigma_of(change.state(*taken)));
    change.count(region_.writer(writer_).evictions);
    return taken;
  }

  // How one more of limited room may be inserted into the buckets. At the limit another one
  // elsewhere is given up for it, and only if an empty slot is here: else each of them would evict
  // one of the others for ever. Looks without locks: what else happens meanwhile makes it one more
  // or less for each writer.
  [[nodiscard]] Growth limited_growth(const KeyPlace& place, const Sketch& key) {
    const bool is_replaced = find_entry(region_, key, steps_).has_value() ||
                             has_limited(place.first) || has_limited(place.second);
    if (is_replaced) return Growth::none;
    if (limited_entries(region_) < region_.limited_max()) return Growth::by_eviction;
    const bool has_empty =
        room_in(region_.bucket(place.first)) > 0 || room_in(region_.bucket(place.second)) > 0;
    return has_empty && give_up_limited(place) ? Growth::into_empty : Growth::none;
  }

  [[nodiscard]] bool has_limited(Word index) const {
    for (const Slot& slot : region_.bucket(index).slots) {
      if (is_limited(load(slot.state))) return true;
    }
    return false;
  }

  // Evicts one that was not read lately out of the next buckets.
  [[nodiscard]] bool give_up_limited(const KeyPlace& place) {
    const Word looked_at = std::min(kLookedAtMax, region_.bucket_count() - 1);
    for (Word i = 1; i <= looked_at; ++i) {
      const Word other = (place.first + i) % region_.bucket_count();
      if (!has_limited(other)) continue;
      BucketChange<Steps> change(region_, writer_, steps_);
      if (!change.lock({Tag{}, other, other}, Patience::bounded)) continue;
      const auto at = change.find_limited();
      const bool gives_up = at && !change.take_reference(*at);
      if (gives_up) {
        change.raise_floor(at->held, sigma_of(change.state(*at)));
        change.count(region_.writer(writer_).evictions);
        change.clear(*at);
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

// Few buckets, what lies in them, and one change: the cases that the interruption and interleaving
// tests go through store by store.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support.hpp"

namespace prophecy::table {

using Contents = std::map<std::uint64_t, HistoryEntry>;

inline Contents contents_of(const Region& region, std::uint64_t keys) {
  Contents contents;
  for (std::uint64_t key = 0; key < keys; ++key) {
    if (const auto entry = find(region, key)) contents[key] = *entry;
  }
  return contents;
}

inline std::optional<HistoryEntry> at(const Contents& contents, std::uint64_t key) {
  const auto found = contents.find(key);
  return found == contents.end() ? std::nullopt : std::optional(found->second);
}

enum class Action { update, set_mark, erase, seed, take_handed, erase_partition, erase_bucket };

struct OneChange {
  Action action = Action::update;
  std::uint64_t key = 0;
  Sigma sigma = 0;
  Mark mark = Mark::none;
  Room room = Room::any;

  template <class Steps>
  void make(const Region& region, WriterSlot writer, Steps& steps) const {
    Hand<Steps> hand(region, writer, steps);
    switch (action) {
      case Action::update:
        hand.update(key, sigma, room);
        break;
      case Action::set_mark:
        (void)hand.set_mark(key, mark);
        break;
      case Action::erase:
        (void)hand.erase(key);
        break;
      case Action::seed:
        hand.seed(key, sigma);
        break;
      case Action::take_handed:
        hand.take_handed(key, sigma, sigma, room);
        break;
      case Action::erase_partition:
        for (Word i = 0; i < region.bucket_count(); ++i)
          (void)hand.erase_in_bucket(i, key);
        break;
      case Action::erase_bucket:
        (void)hand.erase_in_bucket(key % region.bucket_count());
        break;
    }
  }
};

struct Scenario {
  std::string name;
  std::vector<std::pair<std::uint64_t, Sigma>> answers;  // key, sigma
  std::vector<std::uint64_t> marks;                      // blacklisted before
  std::vector<std::uint64_t> erased;                     // taken out again
  Action action = Action::update;
  std::uint64_t key = 0;
  Sigma sigma = 0;
  Mark mark = Mark::none;
  std::vector<std::uint64_t> limited{};  // of the answers, those of limited room
  Room room = Room::any;
  std::size_t buckets = 1;

  // Numbered from 0; more than the buckets hold.
  [[nodiscard]] std::uint64_t keys() const { return buckets * kSlotsPerBucket + 3; }

  // Partitions are erased entry by entry.
  [[nodiscard]] bool is_one_change() const { return action < Action::erase_partition; }

  // The buckets as they stand before the change. Their answers have all been read.
  [[nodiscard]] SmallRegion before() const {
    SmallRegion region = small_region(buckets);
    auto writer = steady_hand(region, 1);
    auto other = steady_hand(region, 2);  // both have a past
    for (const auto& [number, newest] : answers) {
      const bool is_limited = std::find(limited.begin(), limited.end(), number) != limited.end();
      (number % 2 == 0 ? writer : other)
          .update(number, newest, is_limited ? Room::limited : Room::any);
    }
    for (const std::uint64_t number : marks)
      (void)writer.set_mark(number, Mark::blacklisted);
    for (const std::uint64_t number : erased)
      (void)writer.erase(number);
    (void)contents_of(region, keys());
    // Or what has limited room could not be replaced.
    for (Word i = 0; i < region.bucket_count(); ++i) {
      Bucket& bucket = region.bucket(i);
      for (std::size_t slot = 0; slot < kSlotsPerBucket; ++slot) {
        if (!is_limited(load(bucket.slots[slot].state))) continue;
        store(kUninterrupted, bucket.control, load(bucket.control) & ~referenced_bit(slot));
      }
    }
    return region;
  }

  template <class Steps>
  void change(const Region& region, WriterSlot writer, Steps& steps) const {
    OneChange{action, key, sigma, mark, room}.make(region, writer, steps);
  }

  [[nodiscard]] Contents after() const {
    const SmallRegion region = before();
    change(region, 2, kUninterrupted);
    return contents_of(region, keys());
  }
};

using Answers = std::vector<std::pair<std::uint64_t, Sigma>>;

// So many keys that both buckets of the next one are full, and another bucket is not: whoever
// inserts that one makes room by moving an entry.
inline Answers full_but_for_a_third(std::size_t buckets) {
  const SmallRegion region = small_region(buckets);
  auto writer = steady_hand(region, 1);
  Answers answers;
  for (std::uint64_t key = 0;; ++key) {
    ASSERT(key < buckets * kSlotsPerBucket);
    const KeyPlace place = region.place_of(key_number(key));
    const bool full =
        room_in(region.bucket(place.first)) == 0 && room_in(region.bucket(place.second)) == 0;
    if (full && place.first != place.second) return answers;
    answers.emplace_back(key, 100 + key);
    writer.update(key, 100 + key);
  }
}

inline std::vector<Scenario> scenarios() {
  const Answers full{{0, 100}, {1, 101}, {2, 102}, {3, 103},
                     {4, 104}, {5, 105}, {6, 106}, {7, 107}};
  const Answers some{{0, 100}, {1, 101}};
  const Answers many = full_but_for_a_third(3);
  const std::uint64_t next = many.size();
  const Answers more = full_but_for_a_third(4);
  using enum Action;
  return {
      {"insert into an empty bucket", {}, {}, {}, update, 0, 200, {}},
      {"insert beside others", some, {}, {}, update, 2, 200, {}},
      {"insert where an erased entry lay", some, {}, {0}, update, 2, 200, {}},
      {"insert again what was erased", some, {}, {0}, update, 0, 200, {}},
      {"insert and evict", full, {}, {}, update, 8, 200, {}},
      {"insert and evict something newer", full, {}, {}, update, 8, 102, {}},
      {"insert and evict between marks", full, {1, 2, 3, 5, 6}, {}, update, 8, 200, {}},
      {"no room", full, {0, 1, 2, 3, 4, 5, 6, 7}, {}, update, 8, 200, {}},
      {"replace", full, {}, {}, update, 3, 200, {}},
      {"replace with something older", full, {}, {}, update, 3, 50, {}},
      {"update a marked entry", full, {3}, {}, update, 3, 200, {}},
      {"mark an answer", full, {}, {}, set_mark, 3, 0, Mark::whitelisted},
      {"mark something new", some, {}, {}, set_mark, 3, 0, Mark::blacklisted},
      {"mark something new and evict", full, {}, {}, set_mark, 8, 0, Mark::blacklisted},
      {"exchange a mark", full, {2}, {}, set_mark, 2, 0, Mark::whitelisted},
      {"remove a mark", full, {2}, {}, set_mark, 2, 0, Mark::none},
      {"insert of limited room", some, {}, {}, update, 2, 200, {}, {}, Room::limited},
      {"evict for limited room", full, {}, {}, update, 8, 200, {}, {}, Room::limited},
      {"take the place of limited room", some, {}, {}, update, 2, 200, {}, {1}, Room::limited},
      {"the same in a full bucket", full, {}, {}, update, 8, 200, {}, {3}, Room::limited},
      {"become limited", full, {}, {}, update, 3, 200, {}, {}, Room::limited},
      {"become limited beside another", full, {}, {}, update, 3, 200, {}, {2}, Room::limited},
      {"be limited no more", full, {}, {}, update, 3, 200, {}, {3}},
      {"mark what is limited", full, {}, {}, set_mark, 3, 0, Mark::whitelisted, {3}},
      {"erase what is limited", full, {}, {}, erase, 3, 0, {}, {3}},
      {"erase", full, {}, {}, erase, 4, 0, {}},
      {"erase nothing", some, {}, {}, erase, 4, 0, {}},
      {"insert into one of two buckets", some, {}, {}, update, 2, 200, {}, {}, Room::any, 4},
      {"replace in one of two buckets", some, {}, {}, update, 1, 200, {}, {}, Room::any, 4},
      {"insert and move another entry", many, {}, {}, update, next, 200, {}, {}, Room::any, 3},
      {"insert and move among four buckets",
       more,
       {},
       {},
       update,
       more.size(),
       200,
       {},
       {},
       Room::any,
       4},
      {"seed beside others", some, {}, {}, seed, 2, 200, {}},
      {"seed what is known", some, {}, {}, seed, 1, 200, {}},
      {"seed where something is forgotten", some, {}, {0}, seed, 2, 200, {}},
      {"seed a full bucket", full, {}, {}, seed, 8, 200, {}},
      {"seed and move another entry", many, {}, {}, seed, next, 200, {}, {}, Room::any, 3},
      {"take what is handed over", some, {}, {}, take_handed, 2, 150, {}},
      {"take over nothing that is known", some, {}, {}, take_handed, 1, 150, {}},
      {"take where something older is forgotten", some, {}, {0}, take_handed, 0, 150, {}},
      {"take and evict", full, {}, {}, take_handed, 8, 150, {}},
      {"take over no mark's place", full, {3}, {}, take_handed, 3, 150, {}},
      {"take what is limited", some, {}, {}, take_handed, 2, 150, {}, {1}, Room::limited},
      {"take and move another entry", many, {}, {}, take_handed, next, 150, {}, {}, Room::any, 3},
      {"erase a partition", full, {}, {}, erase_partition, 3, 0, {}},
      {"erase a partition of two buckets",
       some,
       {},
       {},
       erase_partition,
       1,
       0,
       {},
       {},
       Room::any,
       4},
      {"erase a bucket between marks", full, {1, 4}, {}, erase_bucket, 0, 0, {}, {3}},
      {"insert and move a mark",
       many,
       {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
       {},
       update,
       next,
       200,
       {},
       {},
       Room::any,
       3},
      {"insert and move what is limited",
       many,
       {},
       {},
       update,
       next,
       200,
       {},
       {0, 2, 4, 6, 8, 10, 12, 14},
       Room::any,
       3},
      {"mark something new and move",
       many,
       {},
       {},
       set_mark,
       next,
       0,
       Mark::whitelisted,
       {},
       Room::any,
       3},
  };
}

inline Scenario scenario_named(const std::string& name) {
  const std::vector<Scenario> all = scenarios();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Scenario& each) { return each.name == name; });
  ASSERT(found != all.end());
  return *found;
}

}  // namespace prophecy::table

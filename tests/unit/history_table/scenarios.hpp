// One bucket, what lies in it, and one change: the cases that the interruption and interleaving
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

constexpr std::uint64_t kKeys = 8;  // numbered from 0; more than a bucket holds

inline Contents contents_of(const Region& region) {
  Contents contents;
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    if (const auto entry = find(region, key)) contents[key] = *entry;
  }
  return contents;
}

inline std::optional<HistoryEntry> at(const Contents& contents, std::uint64_t key) {
  const auto found = contents.find(key);
  return found == contents.end() ? std::nullopt : std::optional(found->second);
}

enum class Action { update, set_mark, erase };

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

  static bool is_limited_slot(Bucket& bucket, std::size_t slot) {
    return is_limited(load(bucket.slots[slot].state));
  }

  // A bucket as it stands before the change. Its answers have all been read.
  [[nodiscard]] Region before() const {
    Region region = small_region(1);
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
    (void)contents_of(region);
    // Or what has limited room could not be replaced.
    for (std::size_t slot = 0; slot < kSlotsPerBucket; ++slot) {
      Bucket& bucket = region.bucket(0);
      if (!is_limited_slot(bucket, slot)) continue;
      store(kUninterrupted, bucket.control, load(bucket.control) & ~referenced_bit(slot));
    }
    return region;
  }

  template <class Steps>
  void change(const Region& region, WriterSlot writer, Steps& steps) const {
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
    }
  }

  [[nodiscard]] Contents after() const {
    const Region region = before();
    change(region, 2, kUninterrupted);
    return contents_of(region);
  }
};

inline std::vector<Scenario> scenarios() {
  const std::vector<std::pair<std::uint64_t, Sigma>> full{
      {0, 100}, {1, 101}, {2, 102}, {3, 103}, {4, 104}};
  const std::vector<std::pair<std::uint64_t, Sigma>> some{{0, 100}, {1, 101}};
  using enum Action;
  return {
      {"insert into an empty bucket", {}, {}, {}, update, 0, 200, {}},
      {"insert beside others", some, {}, {}, update, 2, 200, {}},
      {"insert where an erased entry lay", some, {}, {0}, update, 2, 200, {}},
      {"insert again what was erased", some, {}, {0}, update, 0, 200, {}},
      {"insert and evict", full, {}, {}, update, 5, 200, {}},
      {"insert and evict something newer", full, {}, {}, update, 5, 102, {}},
      {"insert and evict between marks", full, {1, 2, 3}, {}, update, 5, 200, {}},
      {"no room", full, {0, 1, 2, 3, 4}, {}, update, 5, 200, {}},
      {"replace", full, {}, {}, update, 3, 200, {}},
      {"replace with something older", full, {}, {}, update, 3, 50, {}},
      {"update a marked entry", full, {3}, {}, update, 3, 200, {}},
      {"mark an answer", full, {}, {}, set_mark, 3, 0, Mark::whitelisted},
      {"mark something new", some, {}, {}, set_mark, 3, 0, Mark::blacklisted},
      {"mark something new and evict", full, {}, {}, set_mark, 5, 0, Mark::blacklisted},
      {"exchange a mark", full, {2}, {}, set_mark, 2, 0, Mark::whitelisted},
      {"remove a mark", full, {2}, {}, set_mark, 2, 0, Mark::none},
      {"insert of limited room", some, {}, {}, update, 2, 200, {}, {}, Room::limited},
      {"evict for limited room", full, {}, {}, update, 5, 200, {}, {}, Room::limited},
      {"take the place of limited room", some, {}, {}, update, 2, 200, {}, {1}, Room::limited},
      {"the same in a full bucket", full, {}, {}, update, 5, 200, {}, {3}, Room::limited},
      {"become limited", full, {}, {}, update, 3, 200, {}, {}, Room::limited},
      {"become limited beside another", full, {}, {}, update, 3, 200, {}, {2}, Room::limited},
      {"be limited no more", full, {}, {}, update, 3, 200, {}, {3}},
      {"mark what is limited", full, {}, {}, set_mark, 3, 0, Mark::whitelisted, {3}},
      {"erase what is limited", full, {}, {}, erase, 3, 0, {}, {3}},
      {"erase", full, {}, {}, erase, 4, 0, {}},
      {"erase nothing", some, {}, {}, erase, 4, 0, {}},
  };
}

}  // namespace prophecy::table

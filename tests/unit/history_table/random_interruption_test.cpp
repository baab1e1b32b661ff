// Small tables through whole lives: changes that are drawn, and abandoned before a store that is
// drawn, one or two at a time; then clean-ups, abandoned as well and repeated; and on with what
// that leaves. (interruption_test.cpp goes through chosen cases, each store of them.)
// `./run test` asks for 200,000, and PROPHECY_TABLE_INTERRUPTIONS=1000000 for more. A failure names
// its seed.
#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "scenarios.hpp"

namespace prophecy::table {
namespace {

constexpr std::uint64_t kInterruptionsWanted = 10'000;  // unless more are asked for
constexpr int kRounds = 40;                             // of a life
constexpr WriterSlot kWriters = 4;
// Most changes take no more stores; one that moves another entry does.
constexpr std::uint64_t kStepsMax = 16;
constexpr std::uint64_t kMovingStepsMax = 40;

using Entries = std::vector<std::optional<HistoryEntry>>;  // by key

struct DrawnChange : OneChange {
  WriterSlot writer = 0;

  // What it may make of an entry, apart from none.
  [[nodiscard]] bool may_leave(const HistoryEntry& entry) const {
    if (action == Action::set_mark) return mark != Mark::none && entry == marked_entry(mark);
    if (action == Action::erase || action == Action::erase_partition) return false;
    if (entry == entry_for(key, sigma)) return true;
    // Two histories that contradict each other.
    return action == Action::seed && entry.answer == Sketch{} && entry.sigma >= sigma;
  }
};

class Life {
 public:
  explicit Life(std::uint64_t seed)
      : random_(seed),
        region_(small_region(1 + draw(5), draw(2) == 0 ? 1 : 0.2)),
        keys_(region_.bucket_count() * kSlotsPerBucket + 6),
        newest_(keys_) {
    // Some begin nearly full: then room is made by moving entries, and by evicting them.
    const std::uint64_t present = draw(keys_);
    for (std::uint64_t key = 0; key < present; ++key)
      steady_hand(region_, 1).update(key, 1);
  }

  // What is wrong; empty if nothing is.
  std::string run() {
    for (round_ = 0; round_ < kRounds && wrong_.empty(); ++round_)
      run_round();
    if (wrong_.empty()) go_on();
    return wrong_;
  }

  [[nodiscard]] std::uint64_t interruptions() const { return interruptions_; }

 private:
  std::uint64_t draw(std::uint64_t bound) { return next_random(random_) % bound; }
  void expect(bool holds, const char* what) {
    if (!holds && wrong_.empty()) wrong_ = "round " + std::to_string(round_) + ": " + what;
  }

  void run_round() {
    const Entries before = entries();
    std::vector<DrawnChange> changes{draw_change()};
    make(changes.front());
    if (draw(3) == 0) {
      const DrawnChange second = draw_change_beside(changes.front());
      if (is_open(second.key)) {
        changes.push_back(second);
        make(second);
      }
    }
    if (draw(2) == 0) compare(before, changes);
    for (const DrawnChange& change : changes)
      clean_up(change.writer);
    expect(!any_locked(region_), "somebody would wait");
    compare(before, changes);
    expect(stats_of(region_).entries == occupied_slots(region_), "entries are miscounted");
    expect(stats_of(region_).limited == limited_slots(region_), "limited entries are miscounted");
  }

  DrawnChange draw_change() {
    DrawnChange change;
    const std::uint64_t kind = draw(16);
    change.action = kind < 9    ? Action::update
                    : kind < 10 ? Action::take_handed
                    : kind < 12 ? Action::seed
                    : kind < 14 ? Action::set_mark
                    : kind < 15 ? Action::erase_partition
                                : Action::erase;
    change.writer = static_cast<WriterSlot>(1 + draw(kWriters));
    change.key = draw(keys_);
    // Mostly ahead, sometimes late.
    change.sigma = 20 + static_cast<Sigma>(round_) - draw(20);
    change.mark = draw(2) == 0 ? Mark::none : Mark::blacklisted;
    change.room = draw(4) == 0 ? Room::limited : Room::any;
    return change;
  }

  // By another one; what has limited room might wait for a bucket that the first one died in.
  DrawnChange draw_change_beside(const DrawnChange& first) {
    DrawnChange change = draw_change();
    change.writer = static_cast<WriterSlot>(1 + first.writer % kWriters);
    change.room = Room::any;
    if (change.action == Action::erase_partition) change.action = Action::erase;
    return change;
  }

  void make(const DrawnChange& change) {
    if (!is_abandoned([&](StopAfter& stop) { change.make(region_, change.writer, stop); })) {
      if (change.action == Action::update) has_been(change.key, change.sigma);
    }
  }

  void clean_up(WriterSlot writer) {
    const auto is_repeated = [&] {
      return draw(3) == 0 && is_abandoned([&](StopAfter& stop) {
               Hand<StopAfter>(region_, writer, stop).clean_up();
             });
    };
    while (is_repeated()) {
    }
    steady_hand(region_, writer).clean_up();
  }

  template <class Work>
  bool is_abandoned(Work work) {
    StopAfter stop{draw(draw(2) == 0 ? kStepsMax : kMovingStepsMax)};
    try {
      work(stop);
      return false;
    } catch (const Abandoned&) {
      ++interruptions_;
      return true;
    }
  }

  // Each entry is the old one, a new one, or gone; and a change costs one other key its entry at
  // most, once all is open again.
  void compare(const Entries& before, const std::vector<DrawnChange>& changes) {
    const bool is_open = !any_locked(region_);
    const Entries now = entries();
    std::size_t lost = 0;
    for (std::uint64_t key = 0; key < keys_; ++key) {
      bool is_changed = false;
      bool is_new = false;
      for (const DrawnChange& change : changes) {
        is_changed = is_changed || change.key == key;
        is_new = is_new || (change.key == key && now[key] && change.may_leave(*now[key]));
      }
      if (!now[key]) {
        lost += before[key] && !is_changed ? 1 : 0;
        continue;
      }
      expect(now[key] == before[key] || is_new, "an entry that nobody wrote");
      if (now[key]->mark != Mark::none) continue;
      expect(now[key]->sigma >= newest_[key], "an entry older than what was there");
      has_been(key, now[key]->sigma);
    }
    expect(!is_open || lost <= changes.size(), "too many are gone");
  }

  void has_been(std::uint64_t key, Sigma sigma) { newest_[key] = std::max(newest_[key], sigma); }

  // Whoever comes later gets everything done.
  void go_on() {
    std::size_t marks = 0;
    for (const auto& entry : entries())
      marks += entry && entry->mark != Mark::none ? 1 : 0;
    auto writer = steady_hand(region_, 1);
    for (std::uint64_t key = 0; key < keys_; ++key) {
      const Sigma sigma = 1000 + key;
      const UpdateOutcome outcome = writer.update(key, sigma);
      if (outcome == UpdateOutcome::marked) continue;
      if (outcome == UpdateOutcome::full && marks >= kSlotsPerBucket) continue;
      expect(outcome == UpdateOutcome::inserted || outcome == UpdateOutcome::replaced,
             "what is newer is not taken");
      expect(find(region_, key) == entry_for(key, sigma), "what was taken is not there");
    }
    expect(stats_of(region_).entries == occupied_slots(region_), "entries are miscounted");
  }

  [[nodiscard]] bool is_open(std::uint64_t key) const {
    const KeyPlace place = region_.place_of(key_number(key));
    return !is_locked(load(region_.bucket(place.first).control)) &&
           !is_locked(load(region_.bucket(place.second).control));
  }

  [[nodiscard]] Entries entries() const {
    Entries entries(keys_);
    for (std::uint64_t key = 0; key < keys_; ++key)
      entries[key] = find(region_, key);
    return entries;
  }

  std::uint64_t random_;
  SmallRegion region_;
  std::uint64_t keys_;
  std::vector<Sigma> newest_;  // by key: what was read, or taken note of
  int round_ = 0;
  std::uint64_t interruptions_ = 0;
  std::string wrong_;
};

}  // namespace

TEST_CASE(
    "changes drawn and abandoned at random leave entries old, new or gone, and nobody waiting") {
  const char* const asked = std::getenv("PROPHECY_TABLE_INTERRUPTIONS");
  const std::uint64_t wanted =
      asked != nullptr ? std::strtoull(asked, nullptr, 10) : kInterruptionsWanted;
  std::uint64_t interruptions = 0;
  for (std::uint64_t seed = 1; interruptions < wanted; ++seed) {
    Life life(seed);
    const std::string wrong = life.run();
    INFO("seed " << seed);
    REQUIRE(wrong == "");
    interruptions += life.interruptions();
  }
}

}  // namespace prophecy::table

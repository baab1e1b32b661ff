// Permissions, fences, leases and the hand-over, rule by rule; tests/ring/ runs them together.
#include "dht/core/ownership.hpp"

#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "dht/core/hand_over.hpp"
#include "dht/core/handed_numbers.hpp"
#include "dht/core/lease.hpp"

using namespace prophecy;
using namespace prophecy::dht;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kParts = 16;
constexpr ClockBounds kClocks{.drift_ppm = 1000, .grain = milliseconds(10)};
const Holder kSelf{"b", 20, 100};

BootTime at(milliseconds time) {
  return BootTime(time);
}

View view_of(ViewNumber number, std::vector<Holder> holders, std::vector<FormerView> former) {
  View view;
  view.number = number;
  for (Holder& holder : holders)
    view.members.push_back({std::move(holder), {}});
  view.former = std::move(former);
  return view;
}

const Holder kOther{"a", 10, 100};
// After the first, of a alone.
View second_view() {
  return view_of(2, {kOther, kSelf}, {{1, {kOther}}});
}

using Kind = OwnershipAction::Kind;

struct Site {
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(kParts + Permissions::kExtraWords);
  Permissions permissions{words};
  Ownership ownership{permissions, kSelf, kClocks};

  [[nodiscard]] std::vector<Partition> in_stage(Stage stage) const {
    std::vector<Partition> found;
    for (std::size_t i = 0; i < kParts; ++i) {
      const auto partition = static_cast<Partition>(i);
      if (permissions.owner(partition).stage() == stage) found.push_back(partition);
    }
    return found;
  }
  // The action that is due, of that kind.
  OwnershipAction take(OwnershipAction::Kind kind) {
    auto action = ownership.take_action();
    REQUIRE(action.has_value());
    REQUIRE(action->kind == kind);
    return *action;
  }
  // All partitions, in view 1.
  void take_all() {
    ownership.adopt(view_of(1, {kSelf}, {}), at(milliseconds(0)));
    ownership.on_cleared(take(Kind::clear).ticket);
    ownership.progress(at(milliseconds(1)), {});
    ownership.on_barrier(take(Kind::barrier).ticket, 1);
    (void)take(Kind::taken);
  }
  // Some of them go to another member, in view 2.
  void give_some() {
    ownership.adopt(view_of(2, {kOther, kSelf}, {{1, {kSelf}}}), at(milliseconds(2)));
    ownership.on_quiesced(take(Kind::quiesce).ticket);
  }
};

}  // namespace

TEST_CASE("an answer is accepted under the word that it was begun with, while the lease lasts") {
  Site member;
  const Permissions& permissions = member.permissions;
  const auto now = [] { return at(milliseconds(500)); };
  const OwnerWord taken(7, Stage::taken, 1);
  permissions.set_owner(3, taken);
  CHECK_FALSE(permissions.may_accept(3, taken, Basis::history, now));
  permissions.extend(at(milliseconds(500)), at(milliseconds(501)));
  CHECK_FALSE(permissions.may_accept(3, taken, Basis::history, now));
  CHECK(permissions.may_accept(3, taken, Basis::group, now));
  permissions.extend(at(milliseconds(501)), at(milliseconds(501)));
  CHECK(permissions.may_accept(3, taken, Basis::history, now));
  permissions.extend(at(milliseconds(1)), at(milliseconds(1)));  // never falls
  CHECK(permissions.may_accept(3, taken, Basis::history, now));
  // The partition went and came back.
  permissions.set_owner(3, OwnerWord(9, Stage::taken, 1));
  CHECK_FALSE(permissions.may_accept(3, taken, Basis::history, now));
  const OwnerWord group_only(10, Stage::group_only, 1);
  permissions.set_owner(3, group_only);
  CHECK_FALSE(permissions.may_accept(3, group_only, Basis::history, now));
  CHECK(permissions.may_accept(3, group_only, Basis::group, now));
  CHECK(group_only.slot() == 1);
  CHECK(group_only.number() == 10);
}

TEST_CASE("the lease is looked at before the word") {
  // A worker that is stopped while it reads the clock: meanwhile the partition is given away, and
  // the lease renewed under the view that gives it away.
  Site member;
  const OwnerWord taken(1, Stage::taken, 1);
  member.permissions.set_owner(0, taken);
  const auto stopped_meanwhile = [&] {
    member.permissions.set_owner(0, OwnerWord(2, Stage::elsewhere, 0));
    member.permissions.extend(at(seconds(9)), at(seconds(9)));
    return at(seconds(5));
  };
  member.permissions.extend(at(seconds(6)), at(seconds(6)));
  CHECK_FALSE(member.permissions.may_accept(0, taken, Basis::history, stopped_meanwhile));
}

TEST_CASE("a wait outlasts a lease whichever clock is fast") {
  const Span lease = seconds(4);
  const Span wait = outlast(lease, {.drift_ppm = 100'000, .grain = milliseconds(0)});
  // 4 s of a clock that is slow by a tenth, on one that is fast by a tenth.
  CHECK(wait >= std::chrono::nanoseconds(4'000'000'000LL * 11 / 9));
  CHECK(wait <= milliseconds(4890));
  CHECK(outlast(lease, {.drift_ppm = 0, .grain = milliseconds(10)}) == lease + milliseconds(10));
}

TEST_CASE("a wait outlasts a lease whatever a clock daemon may do to the two clocks") {
  // ADJ_TICK: a tenth; ADJ_FREQUENCY and ADJ_OFFSET: 500 parts in a million each; an oscillator:
  // 100.
  constexpr std::int64_t kMillion = 1'000'000;
  constexpr std::int64_t kOff = kMillion / 10 + 500 + 500 + 100;
  const Span lease = seconds(4);
  const Span on_a_fast_clock = lease / (kMillion - kOff) * (kMillion + kOff);
  CHECK(outlast(lease, ClockBounds{}) > on_a_fast_clock);
  // What a crash costs: a lease, and two seconds at most.
  CHECK(outlast(lease, ClockBounds{}) < lease + seconds(1));
}

TEST_CASE("a view is told to the workers once its words are") {
  Site member;
  CHECK(member.permissions.view() == 0);
  member.ownership.adopt(second_view(), at(milliseconds(100)));
  CHECK(member.permissions.view() == 2);
  // An older one, read late, changes nothing.
  member.ownership.adopt(view_of(1, {kOther}, {}), at(milliseconds(200)));
  CHECK(member.permissions.view() == 2);
}

TEST_CASE("a taker waits for the former holder's word") {
  Site member;
  member.ownership.adopt(second_view(), at(milliseconds(100)));
  const std::vector<Partition> ours = member.in_stage(Stage::waiting);
  REQUIRE_FALSE(ours.empty());
  const OwnershipAction clear = member.take(Kind::clear);
  CHECK(clear.partitions == ours);
  Sightings sightings;
  sightings["a"] = {.record = {10, 1, 1}, .version = 4, .seen = at(milliseconds(50))};
  member.ownership.progress(at(milliseconds(100)), sightings);
  CHECK_FALSE(member.ownership.take_action().has_value());

  SECTION("and is cleared first") {
    sightings["a"].record.view = 2;
    member.ownership.progress(at(milliseconds(200)), sightings);
    CHECK_FALSE(member.ownership.take_action().has_value());
  }
  SECTION("of the same life") {
    member.ownership.on_cleared(clear.ticket);
    sightings["a"].record = {11, 2, 0};
    member.ownership.progress(at(milliseconds(200)), sightings);
    CHECK_FALSE(member.ownership.take_action().has_value());
  }
  member.ownership.on_cleared(clear.ticket);
  sightings["a"].record = {10, 2, 0};
  member.ownership.progress(at(milliseconds(300)), sightings);
  const OwnershipAction barrier = member.take(Kind::barrier);
  CHECK(member.in_stage(Stage::taken).empty());
  CHECK_FALSE(member.ownership.is_settled());
  member.ownership.on_barrier_failed(barrier.ticket);
  member.ownership.progress(at(milliseconds(301)), sightings);
  member.ownership.on_barrier(member.take(Kind::barrier).ticket, 77);
  CHECK(member.in_stage(Stage::taken) == ours);
  CHECK(member.ownership.is_settled());
  const OwnershipAction taken = member.take(Kind::taken);
  CHECK(taken.partitions == ours);
  CHECK(taken.barrier == 77);
  CHECK(member.ownership.giver(ours[0]) == kOther);
}

TEST_CASE("or for a whole lease since its last renewal") {
  Site member;
  const BootTime known = at(milliseconds(1000));
  member.ownership.adopt(second_view(), known);
  member.ownership.on_cleared(member.take(Kind::clear).ticket);
  const Span wait = outlast(second_view().parameters.lease, kClocks);
  Sightings sightings;
  sightings["a"] = {.record = {10, 1, 1}, .version = 4, .seen = at(milliseconds(400))};
  CHECK(member.ownership.awaited(sightings) == std::vector<std::string>{"a"});
  // That it was the last is not known: the lease may have begun just before the view was known.
  member.ownership.progress(known + wait - Span(1), sightings);
  CHECK_FALSE(member.ownership.take_action().has_value());
  CHECK(member.ownership.deadline() == known + wait);
  sightings["a"].certified = 1;  // of views before the first: it says nothing of the first
  member.ownership.progress(known + wait - Span(1), sightings);
  CHECK_FALSE(member.ownership.take_action().has_value());
  sightings["a"].certified = 2;
  member.ownership.progress(at(milliseconds(400)) + wait - Span(1), sightings);
  CHECK_FALSE(member.ownership.take_action().has_value());
  member.ownership.progress(at(milliseconds(400)) + wait, sightings);
  (void)member.take(Kind::barrier);
  CHECK(member.ownership.awaited({}).empty());
}

TEST_CASE("what a skipped view gave to another is not retained") {
  Site member;
  member.take_all();
  REQUIRE(member.in_stage(Stage::taken).size() == kParts);
  const OwnerWord before = member.permissions.owner(0);
  SECTION("retained across a view that gave all to us") {
    member.ownership.adopt(view_of(3, {kSelf}, {{1, {kSelf}}, {2, {kSelf}}}), at(seconds(1)));
    CHECK(member.permissions.owner(0) == before);
    CHECK(member.in_stage(Stage::taken).size() == kParts);
  }
  SECTION("not across one that gave some to another") {
    member.ownership.adopt(view_of(3, {kSelf}, {{1, {kSelf}}, {2, {kOther, kSelf}}}),
                           at(seconds(1)));
    CHECK_FALSE(member.in_stage(Stage::taken).empty());
    CHECK_FALSE(member.in_stage(Stage::waiting).empty());
  }
  SECTION("nor where it is not known") {
    View view = view_of(4, {kSelf}, {{3, {kSelf}}});
    member.ownership.adopt(view, at(seconds(1)));
    CHECK(member.in_stage(Stage::waiting).size() == kParts);
  }
}

TEST_CASE("a lease counts from when its renewal was sent, if that was committed") {
  Lease lease("/leases/b", 20, seconds(4));
  CHECK_FALSE(lease.renew(1, at(seconds(1))).has_value());
  lease.set_target("/view", 5, 2, false, true);
  CHECK(lease.wants_reading());
  lease.on_read(LeaseRecord{19, 1, 1}, 8);  // of an earlier life
  const auto call = lease.renew(1, at(seconds(10)));
  REQUIRE(call.has_value());
  REQUIRE(call->steps.size() == 2);
  CHECK(call->steps[0] == WriteStep{WriteStep::Kind::check, "/view", 5, {}});
  CHECK(call->steps[1].kind == WriteStep::Kind::set);
  CHECK(call->steps[1].version == 8);
  CHECK_FALSE(lease.renew(2, at(seconds(11))).has_value());  // one at a time
  SECTION("committed") {
    const auto outcome =
        lease.on_result({.number = 1, .status = CoordinationStatus::done}, at(seconds(13)));
    CHECK(outcome.end == at(seconds(14)));
    const auto next = lease.renew(2, at(seconds(13)));
    REQUIRE(next.has_value());
    CHECK(next->steps[1].version == 9);
  }
  SECTION("the view is not the newest") {
    const auto outcome = lease.on_result(
        {.number = 1, .status = CoordinationStatus::wrong_version, .failed_step = 0},
        at(seconds(13)));
    CHECK_FALSE(outcome.end.has_value());
    CHECK(outcome.is_view_old);
  }
  SECTION("not known") {
    const auto outcome =
        lease.on_result({.number = 1, .status = CoordinationStatus::unknown}, at(seconds(13)));
    CHECK_FALSE(outcome.end.has_value());
    CHECK(lease.wants_reading());
    CHECK_FALSE(lease.renew(2, at(seconds(20))).has_value());
  }
}

TEST_CASE("who is not in the view writes that it has let go, and has no lease") {
  Lease lease("/leases/b", 20, seconds(4));
  lease.set_target("/view", 5, 2, false, false);
  lease.on_read(LeaseRecord{21, 2, 1}, 8);
  CHECK_FALSE(lease.renew(1, at(seconds(1))).has_value());  // another life's node
  Lease left("/leases/b", 20, seconds(4));
  left.set_target("/view", 5, 2, false, false);
  left.on_read(LeaseRecord{20, 1, 1}, 8);
  REQUIRE(left.renew(1, at(seconds(1))).has_value());
  const auto outcome =
      left.on_result({.number = 1, .status = CoordinationStatus::done}, at(seconds(1)));
  CHECK_FALSE(outcome.end.has_value());
  CHECK_FALSE(left.renew(2, at(seconds(100))).has_value());
}

namespace {

class Store final : public HistoryStore {
 public:
  std::vector<std::string> log;
  bool is_prepared = true;
  std::optional<OrderNumber> newest;  // where members count for themselves
  [[nodiscard]] std::optional<OrderNumber> own_newest() const override { return newest; }
  [[nodiscard]] bool prepare(Partition /*partition*/) override { return is_prepared; }
  std::uint64_t read_floors(Partition, std::uint64_t, std::vector<HandedFloor>& page) override {
    page.push_back({3, 30});
    return 0;
  }
  std::uint64_t read_entries(Partition, std::uint64_t cursor,
                             std::vector<HandedEntry>& page) override {
    page.push_back({.number = 40 + cursor});
    return cursor == 0 ? 1 : 0;
  }
  void raise_floor(Partition, const HandedFloor& floor) override {
    log.push_back("floor " + std::to_string(floor.floor));
  }
  Inserted insert(Partition, const HandedEntry& entry, OrderNumber barrier) override {
    log.push_back("entry " + std::to_string(entry.number));
    return entry.number > barrier ? Inserted::beyond : Inserted::taken;
  }
  void erase(Partition) override { log.emplace_back("erase"); }
};

}  // namespace

TEST_CASE("floors come before entries, and what lies beyond the barrier is left out") {
  Site member;
  member.ownership.adopt(second_view(), at(milliseconds(0)));
  member.ownership.on_cleared(member.take(Kind::clear).ticket);
  Sightings sightings;
  sightings["a"].record = {10, 2, 0};
  member.ownership.progress(at(milliseconds(1)), sightings);
  const OwnershipAction barrier = member.take(Kind::barrier);
  const OrderNumber number = GENERATE(40, 50);
  member.ownership.on_barrier(barrier.ticket, number);
  const OwnershipAction taken = member.take(Kind::taken);
  Store store;
  Taker taker(member.ownership, store, milliseconds(100));
  taker.on_taken({taken.partitions[0]}, taken.barrier, at(milliseconds(2)));
  std::vector<HandOverPhase> asked;
  while (const auto send = taker.take_send()) {
    CHECK(send->to == kOther);
    CHECK(send->ask.gained == 2);
    if (send->ask.is_done) break;
    asked.push_back(send->ask.phase);
    HandOverPage page{.status = HandOverPage::Status::page,
                      .partition = send->ask.partition,
                      .token = send->ask.token,
                      .phase = send->ask.phase,
                      .cursor = send->ask.cursor};
    page.next = send->ask.phase == HandOverPhase::floors
                    ? store.read_floors(0, send->ask.cursor, page.floors)
                    : store.read_entries(0, send->ask.cursor, page.entries);
    HandOverPage stale = page;
    --stale.token;
    taker.on_page(stale, at(milliseconds(3)));
    taker.on_page(page, at(milliseconds(3)));
  }
  CHECK(store.log == std::vector<std::string>{"floor 30", "entry 40", "entry 41"});
  CHECK(taker.under_way() == 0);
  CHECK(asked == std::vector<HandOverPhase>{HandOverPhase::floors, HandOverPhase::entries,
                                            HandOverPhase::entries});
}

TEST_CASE("a giver gives once it has let go and its workers have passed a turn") {
  Site member;
  member.take_all();
  Store store;
  Giver giver(member.ownership, store);
  HandOverAsk ask{.view = 2, .gained = 2};
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::later);
  member.ownership.adopt(view_of(2, {kOther, kSelf}, {{1, {kSelf}}}), at(milliseconds(2)));
  ask.partition = member.in_stage(Stage::elsewhere).at(0);
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::later);
  member.ownership.on_quiesced(member.take(Kind::quiesce).ticket);
  CHECK(giver.on_ask(ask, "c")->status == HandOverPage::Status::nothing);
  // Another member may have held it by a view in between.
  ask.gained = 3;
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::nothing);
  ask.gained = 2;
  const auto page = giver.on_ask(ask, "a");
  CHECK(page->status == HandOverPage::Status::page);
  CHECK(page->floors.size() == 1);
  ask.is_done = true;
  CHECK_FALSE(giver.on_ask(ask, "a").has_value());
  CHECK(store.log == std::vector<std::string>{"erase"});
  ask.is_done = false;
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::nothing);
  ask.partition = kParts;
  CHECK_FALSE(giver.on_ask(ask, "a").has_value());
}

TEST_CASE("entries that the store looks for are given later, floors at once") {
  Site member;
  member.take_all();
  member.give_some();
  Store store;
  store.is_prepared = false;
  Giver giver(member.ownership, store);
  HandOverAsk ask{.view = 2, .gained = 2, .partition = member.in_stage(Stage::elsewhere).at(0)};
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::page);
  ask.phase = HandOverPhase::entries;
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::later);
  store.is_prepared = true;
  CHECK(giver.on_ask(ask, "a")->status == HandOverPage::Status::page);
}

TEST_CASE("where members count for themselves, they hand over how old numbers are") {
  Site member;
  member.take_all();
  member.give_some();
  Store store;
  store.newest = GENERATE(50, 30);
  Giver giver(member.ownership, store);
  HandOverAsk ask{.view = 2, .gained = 2, .partition = member.in_stage(Stage::elsewhere).at(0)};
  const auto floors = giver.on_ask(ask, "a")->floors;
  REQUIRE(floors.size() == 1);
  CHECK(floors[0].floor == kHandedNewest - (*store.newest - 30));
  ask.phase = HandOverPhase::entries;
  store.newest = 60;  // it has counted on
  const auto entries = giver.on_ask(ask, "a")->entries;
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].number == kHandedNewest - 20);
}

TEST_CASE("the taker counts ages back from its barrier, and leaves out what is too old") {
  CHECK(handed_number(0, 50) == 0);
  CHECK(taken_number(handed_number(50, 50), 1000) == 1000);
  CHECK(taken_number(handed_number(20, 50), 1000) == 970);
  CHECK(taken_number(handed_number(20, 50), 30) == 0);
  CHECK(handed_number(1, kHandedNewest + 1) == 0);

  Site member;
  member.ownership.adopt(second_view(), at(milliseconds(0)));
  member.ownership.on_cleared(member.take(Kind::clear).ticket);
  Sightings sightings;
  sightings["a"].record = {10, 2, 0};
  member.ownership.progress(at(milliseconds(1)), sightings);
  member.ownership.on_barrier(member.take(Kind::barrier).ticket, 1000);
  const OwnershipAction taken = member.take(Kind::taken);
  Store store;
  store.newest = 7;
  Taker taker(member.ownership, store, milliseconds(100));
  taker.on_taken({taken.partitions[0]}, taken.barrier, at(milliseconds(2)));
  const auto ask = taker.take_send()->ask;
  HandOverPage page{.status = HandOverPage::Status::page,
                    .partition = ask.partition,
                    .token = ask.token,
                    .phase = ask.phase};
  SECTION("a floor, and then entries") {
    page.floors = {{3, kHandedNewest - 1}, {4, kHandedNewest - 2000}};
    taker.on_page(page, at(milliseconds(3)));
    page.phase = taker.take_send()->ask.phase;
    page.floors.clear();
    page.entries = {{.number = kHandedNewest}, {.number = kHandedNewest - 1000}};
    taker.on_page(page, at(milliseconds(3)));
    CHECK(store.log == std::vector<std::string>{"floor 999", "entry 1000"});
  }
  SECTION("nothing from the future") {
    page.floors = {{3, kHandedNewest + 1}};
    taker.on_page(page, at(milliseconds(3)));
    CHECK(store.log.empty());
    CHECK(taker.under_way() == 0);
  }
}

TEST_CASE("no number of a word comes again, though another process has left words") {
  Site former;
  former.ownership.adopt(view_of(1, {kSelf}, {}), at(milliseconds(0)));
  former.permissions.extend(at(seconds(4)), at(seconds(4)));
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < kParts; ++i)
    numbers.insert(former.permissions.owner(static_cast<Partition>(i)).number());
  const Ownership next(former.permissions, {"b", 21, 100}, kClocks);
  for (std::size_t i = 0; i < kParts; ++i) {
    const OwnerWord word = former.permissions.owner(static_cast<Partition>(i));
    CHECK(word.stage() == Stage::unknown);
    CHECK(numbers.insert(word.number()).second);
  }
}

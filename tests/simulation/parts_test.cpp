// The simulator's own parts: what its findings rest upon.
#include <algorithm>
#include <array>
#include <bit>

#include <catch2/catch.hpp>

#include "simulation/group_keys.hpp"
#include "simulation/hosts/connections.hpp"
#include "simulation/hosts/node_clock.hpp"
#include "simulation/lies.hpp"
#include "simulation/program/shrink.hpp"
#include "simulation/random.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {
namespace {

constexpr std::uint32_t kReplicas = 4;

const pbft::KeyRing& ring(NodeId node) {
  return key_ring_of(Keys::cheap, node, kReplicas);
}

bool includes(const Numbers& numbers, const Numbers& wanted) {
  return std::includes(numbers.begin(), numbers.end(), wanted.begin(), wanted.end());
}

TEST_CASE("A cheap tag is bound to its sender, its receiver and its content") {
  const Sha256::Digest content = sha256(as_bytes("content"));
  const pbft::Tag tag = ring(1).tag(2, content);
  CHECK(ring(2).verify(1, content, tag));
  CHECK_FALSE(ring(2).verify(0, content, tag));
  CHECK_FALSE(ring(2).verify(1, sha256(as_bytes("another")), tag));
  CHECK_FALSE(ring(3).verify(1, content, tag));
  CHECK_FALSE(ring(1).verify(2, content, tag));  // not to be reflected
  CHECK_FALSE(ring(2).verify(1, content, ByteView(tag).first(15)));
  CHECK_FALSE(ring(2).verify(77, content, tag));
}

TEST_CASE("A cheap signature is its signer's, and no tag") {
  const Sha256::Digest content = sha256(as_bytes("content"));
  const pbft::Signature signature = ring(1).sign(content);
  CHECK(ring(3).verify_signature(1, content, signature));
  CHECK(ring(1).verify_signature(1, content, signature));
  CHECK_FALSE(ring(3).verify_signature(2, content, signature));
  CHECK_FALSE(ring(3).verify_signature(1, sha256(as_bytes("another")), signature));
  CHECK_FALSE(ring(3).verify_signature(77, content, signature));
  for (NodeId receiver : {0U, 2U, 3U, kFirstClientId}) {
    const pbft::Tag tag = ring(1).tag(receiver, content);
    CHECK_FALSE(std::equal(tag.begin(), tag.end(), signature.begin()));
  }
}

TEST_CASE("Lies are told apart from what is said honestly, and forgotten after a while") {
  Lies lies;
  const auto frame = [] { return std::make_shared<const Bytes>(3); };
  const pbft::Frame honest = frame();
  const pbft::Frame lie = frame();
  lies.note(lie, BehaviourKind::lying_roots);
  lies.note(honest, BehaviourKind::slow);  // no lie
  CHECK(lies.kind_of(lie) == BehaviourKind::lying_roots);
  CHECK_FALSE(lies.kind_of(honest));
  for (int i = 0; i < 10'000; ++i)
    lies.note(frame(), BehaviourKind::false_parts);
  CHECK_FALSE(lies.kind_of(lie));
}

TEST_CASE("Who lies about keys does so for ever, and only where they change") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Scenario scenario = make_scenario(seed, Canary::none);
    for (const Ingredient& ingredient : scenario.ingredients) {
      if (ingredient.kind != IngredientKind::misconduct) continue;
      if (ingredient.behaviour != BehaviourKind::lying_keys) continue;
      CHECK(scenario.has_real_keys());
      CHECK(ingredient.until == TimePoint::max());
    }
  }
}

TEST_CASE("Cheap keys know whom the real ones know") {
  for (NodeId self : {0U, 3U, kFirstClientId}) {
    for (NodeId other : {0U, 1U, 3U, 4U, kFirstClientId, kFirstClientId + 1}) {
      INFO(self << " and " << other);
      CHECK(ring(self).knows(other) ==
            key_ring_of(Keys::cryptographic, self, kReplicas).knows(other));
    }
  }
}

TEST_CASE("A clock that is off shows a time at the first instant at which it does") {
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const NodeClock clock(milliseconds(random.below(10'000)),
                          static_cast<std::int64_t>(random.below(40'001)) - 20'000);
    const TimePoint time = TimePoint{} + Duration(random.below(30'000'000'000));
    const TimePoint shown = clock.shown_at(time);
    const TimePoint first = clock.when_it_shows(shown);
    REQUIRE(first <= time);
    REQUIRE(clock.shown_at(first) >= shown);
    if (first > TimePoint{}) REQUIRE(clock.shown_at(first - Duration(1)) < shown);
  }
  const NodeClock ahead(seconds(5), 0);
  CHECK(ahead.when_it_shows(TimePoint::min()) == TimePoint{});
}

TEST_CASE("Shrinking leaves what is needed and nothing else") {
  Numbers all;
  for (std::uint32_t number = 1; number <= 40; ++number)
    all.push_back(number);
  for (const Numbers& needed : {Numbers{}, Numbers{17}, Numbers{1, 40}, Numbers{3, 4, 5, 20, 39}}) {
    const Numbers found = shrink(
        all, [&](const Numbers& numbers) { return includes(numbers, needed); }, 1000);
    CHECK(found == needed);
  }
}

TEST_CASE("Shrinking ends after so many tries with what still fails") {
  const Numbers all = {1, 2, 3, 4, 5, 6, 7, 8};
  const Numbers needed = {2, 7};
  std::uint32_t tries = 0;
  const auto fails = [&](const Numbers& numbers) {
    ++tries;
    return includes(numbers, needed);
  };
  CHECK(includes(shrink(all, fails, 3), needed));
  CHECK(tries <= 3);
}

// More than f at a time, and no protocol could hold.
TEST_CASE("No scenario has more faulty replicas than its group can bear") {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const Scenario scenario = make_scenario(seed, Canary::none);
    const std::uint64_t liars = scenario.has_turns() ? 0 : scenario.liars();
    for (const Ingredient& one : scenario.ingredients) {
      // At its beginning: the number rises at no other time.
      std::uint64_t faulty = liars;
      for (const Ingredient& other : scenario.ingredients) {
        const bool misbehaves =
            other.kind == IngredientKind::misconduct && other.is_active(one.from);
        const bool crashes = other.kind == IngredientKind::crash;
        if (misbehaves || crashes) faulty |= std::uint64_t{1} << other.node;
      }
      INFO("seed " << seed << " at ingredient " << one.number);
      REQUIRE(static_cast<std::uint32_t>(std::popcount(faulty)) <= scenario.faults);
    }
  }
}

// Frames of 1000 bytes, over a link that carries 100 bytes in a millisecond and holds three of
// them.
struct NarrowLink {
  static constexpr Connections::Limits kLimits{100, milliseconds(30)};
  struct Arrival {
    std::int64_t ms = 0;
    std::uint8_t frame = 0;
    bool operator==(const Arrival&) const = default;
  };

  Scheduler scheduler;
  std::vector<Arrival> arrivals;
  std::vector<std::uint8_t> dropped;
  Connections connections{
      scheduler,
      [this](NodeId, const pbft::Frame& frame) {
        const Duration now = scheduler.now().time_since_epoch();
        arrivals.push_back({std::chrono::duration_cast<milliseconds>(now).count(), frame->front()});
      },
      [this](NodeId, NodeId, const pbft::Frame& frame) { dropped.push_back(frame->front()); }};

  void send(std::uint8_t frame, Duration delay) {
    connections.send(0, 1, std::make_shared<const Bytes>(1000, frame), kLimits, delay);
  }
  void run() {
    while (scheduler.step()) {
    }
  }
};

TEST_CASE("A narrow link carries frames in their order, each in its time") {
  NarrowLink link;
  link.send(1, milliseconds(50));
  link.send(2, milliseconds(5));  // would be there before
  link.send(3, milliseconds(50));
  link.run();
  CHECK(link.arrivals == std::vector<NarrowLink::Arrival>{{60, 1}, {60, 2}, {80, 3}});
}

TEST_CASE("In front of a narrow link the oldest frames are dropped, but for the one that leaves") {
  NarrowLink link;
  for (std::uint8_t frame = 1; frame <= 6; ++frame)
    link.send(frame, milliseconds(1));
  link.run();
  CHECK(link.arrivals == std::vector<NarrowLink::Arrival>{{11, 1}, {21, 4}, {31, 5}, {41, 6}});
  CHECK(link.dropped == std::vector<std::uint8_t>{2, 3});
}

TEST_CASE("A connection that breaks loses what waits, what leaves, and what is on its way") {
  NarrowLink link;
  for (std::uint8_t frame = 1; frame <= 3; ++frame)
    link.send(frame, milliseconds(50));
  link.scheduler.after(milliseconds(15), [&] {
    link.connections.break_off_all(1);
    link.send(4, milliseconds(1));
  });
  link.run();
  CHECK(link.arrivals == std::vector<NarrowLink::Arrival>{{26, 4}});
}

TEST_CASE("A turn of all sessions takes longer where few requests fit in the window at once") {
  Scenario scenario;
  scenario.clients = 3;
  scenario.sessions = 4;
  scenario.delay_max = milliseconds(9);
  scenario.replica.batches_in_flight_max = 6;
  scenario.replica.batch_requests_max = 2;
  scenario.replica.window = 2;
  CHECK(scenario.longest_turn() == milliseconds(162));  // three times six delays
  scenario.replica.window = 8;
  CHECK(scenario.longest_turn() == milliseconds(60));
}

TEST_CASE("Every kind of fault is drawn") {
  std::array<bool, kBehaviourKinds> behaviours{};
  std::array<bool, kBadClientKinds> bad_clients{};
  std::array<bool, kIngredientKinds> kinds{};
  std::array<bool, 2> narrow_links{};  // for a time, and for good
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    for (const Ingredient& ingredient : make_scenario(seed, Canary::none).ingredients) {
      kinds.at(static_cast<std::size_t>(ingredient.kind)) = true;
      if (ingredient.kind == IngredientKind::narrow_links) {
        narrow_links.at(ingredient.until == TimePoint::max() ? 1 : 0) = true;
      }
      if (ingredient.kind == IngredientKind::misconduct) {
        behaviours.at(static_cast<std::size_t>(ingredient.behaviour)) = true;
      }
      if (ingredient.kind == IngredientKind::bad_client) {
        bad_clients.at(static_cast<std::size_t>(ingredient.bad_client)) = true;
      }
    }
  }
  const auto all = [](const auto& drawn) {
    return std::all_of(drawn.begin(), drawn.end(), [](bool one) { return one; });
  };
  CHECK(all(kinds));
  CHECK(all(narrow_links));
  CHECK(all(behaviours));
  CHECK(all(bad_clients));
}

}  // namespace
}  // namespace prophecy::simulation

// What takes one origin out, and what brings it back.
#include <algorithm>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

#include "replica_client/core/health/check_rule.hpp"
#include "replica_client/core/health/origin_health.hpp"
#include "support/start_time.hpp"

namespace prophecy::replica_client {
namespace {

using test::kStart;

HealthRules rules() {
  HealthRules rules;
  rules.checked = true;
  rules.rise = 2;
  rules.fall = 3;
  rules.failures_max = 4;
  rules.pause = seconds(5);
  rules.pause_max = seconds(15);
  rules.disputes_max = 3;
  rules.disputes_window = seconds(60);
  rules.sit_out = seconds(30);
  rules.sit_out_max = seconds(100);
  return rules;
}

HealthRules rules_without_checks() {
  HealthRules without = rules();
  without.checked = false;
  return without;
}

constexpr auto kUp = Availability::State::up;
constexpr auto kDown = Availability::State::down;

}  // namespace

TEST_CASE("Checks change the state when enough in a row say so: against all that was ever said") {
  const unsigned seed = GENERATE(range(1U, 40U));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return std::uniform_int_distribution<std::uint32_t>(0, bound - 1)(random);
  };
  HealthRules some = rules();
  some.rise = 1 + below(4);
  some.fall = 1 + below(4);
  Availability availability(some);
  std::vector<bool> said;  // since the state changed
  auto state = kUp;
  for (int i = 0; i < 500; ++i) {
    const bool passed = below(100) < (seed % 2 == 0 ? 50U : 75U);
    availability.on_check(passed, kStart + seconds(i));
    said.push_back(passed);
    const std::size_t needed = state == kUp ? some.fall : some.rise;
    const bool wanted = state == kDown;
    const bool enough =
        said.size() >= needed && std::all_of(said.end() - static_cast<std::ptrdiff_t>(needed),
                                             said.end(), [&](bool each) { return each == wanted; });
    if (enough) {
      state = state == kUp ? kDown : kUp;
      said.clear();
    }
    REQUIRE(availability.state() == state);
  }
}

TEST_CASE("Requests that fail take an origin out for a pause, without checks") {
  Availability availability(rules_without_checks());
  TimePoint now = kStart;
  availability.on_requests(0, 3, now);
  CHECK(availability.state() == kUp);
  availability.on_requests(0, 1, now);
  REQUIRE(availability.state() == kDown);
  availability.on_time(now + seconds(5) - Duration(1));
  CHECK(availability.state() == kDown);
  now += seconds(5);
  availability.on_time(now);
  REQUIRE(availability.state() == kUp);

  // On trial one failure is enough, and the pauses grow to their maximum.
  for (const Duration pause : {seconds(10), seconds(15), seconds(15)}) {
    availability.on_requests(0, 1, now);
    REQUIRE(availability.state() == kDown);
    availability.on_time(now + pause - Duration(1));
    CHECK(availability.state() == kDown);
    now += pause;
    availability.on_time(now);
    REQUIRE(availability.state() == kUp);
  }

  // What has gone well for long enough makes up for all of it.
  availability.on_requests(100, 0, now);
  now += seconds(61);
  availability.on_requests(0, 4, now);
  REQUIRE(availability.state() == kDown);
  availability.on_time(now + seconds(5));
  CHECK(availability.state() == kUp);
}

TEST_CASE("Successes make up for as many failures") {
  Availability availability(rules());
  for (int i = 0; i < 1000; ++i) {
    availability.on_requests(3, 3, kStart + seconds(i));
    availability.on_requests(0, 3, kStart + seconds(i));
    availability.on_requests(3, 0, kStart + seconds(i));
  }
  CHECK(availability.state() == kUp);
  availability.on_requests(5, 9, kStart + seconds(1000));
  CHECK(availability.state() == kDown);
}

TEST_CASE("Failures far apart do not add up") {
  Availability availability(rules());
  for (int i = 0; i < 100; ++i)
    availability.on_requests(0, 1, kStart + seconds(61 * i));
  CHECK(availability.state() == kUp);
}

TEST_CASE("Numbers of any size are taken") {
  Availability availability(rules());
  constexpr auto kMany = ~std::uint64_t{0};
  availability.on_requests(kMany, kMany, kStart);
  availability.on_requests(kMany, 0, kStart);
  CHECK(availability.state() == kUp);
  availability.on_requests(0, kMany, kStart);
  CHECK(availability.state() == kDown);
}

TEST_CASE("Checks that pass do not end the pause of an origin whose requests fail") {
  Availability availability(rules());
  availability.on_requests(0, 4, kStart);
  REQUIRE(availability.state() == kDown);
  for (int i = 0; i < 4; ++i)
    availability.on_check(true, kStart + seconds(i));
  CHECK(availability.state() == kDown);
  SECTION("and the pause does not bring back one whose checks fail") {
    availability.on_check(false, kStart + seconds(4));
    availability.on_time(kStart + seconds(6));
    CHECK(availability.state() == kDown);
    availability.on_check(true, kStart + seconds(7));
    CHECK(availability.state() == kDown);
    availability.on_check(true, kStart + seconds(8));
    CHECK(availability.state() == kUp);
  }
  SECTION("and it is back once both are over") {
    availability.on_time(kStart + seconds(5));
    CHECK(availability.state() == kUp);
  }
}

TEST_CASE("Who loses disputes sits out, each time for twice as long") {
  using State = Standing::State;
  Standing standing(rules());
  TimePoint now = kStart;
  standing.on_disputes(2, now);
  CHECK(standing.state() == State::trusted);
  standing.on_disputes(1, now + seconds(59));
  now += seconds(59);
  for (const Duration term : {seconds(30), seconds(60), seconds(100), seconds(100)}) {
    REQUIRE(standing.state() == State::quarantined);
    CHECK(standing.term() == term);
    standing.on_disputes(1000, now + term / 2);  // it votes on
    standing.on_time(now + term - Duration(1));
    CHECK(standing.state() == State::quarantined);
    now += term;
    standing.on_time(now);
    REQUIRE(standing.state() == State::probation);
    now += seconds(1);
    standing.on_disputes(1, now);
  }
  now += seconds(100);
  standing.on_time(now);
  REQUIRE(standing.state() == State::probation);
  standing.on_time(now + seconds(100));
  REQUIRE(standing.state() == State::trusted);
  standing.on_disputes(3, now + seconds(101));
  CHECK(standing.term() == seconds(30));
}

TEST_CASE("The disputes of a quarantine that ends are not held against the probation") {
  Standing standing(rules());
  standing.on_disputes(3, kStart);
  standing.on_disputes(7, kStart + seconds(31));
  CHECK(standing.state() == Standing::State::probation);
}

TEST_CASE("Disputes far apart do not add up, and none count where there is no quarantine") {
  HealthRules some = rules();
  const bool quarantine = GENERATE(true, false);
  some.quarantine = quarantine;
  Standing standing(some);
  for (int i = 0; i < 100; ++i)
    standing.on_disputes(quarantine ? 2 : 1000, kStart + seconds(60 * i));
  CHECK(standing.state() == Standing::State::trusted);
}

TEST_CASE("What is shown of an origin: the operator's word first, then whether it answers") {
  OriginHealth origin(rules_without_checks(), kStart);
  CHECK(origin.state() == OriginState::ready);
  CHECK(origin.reason() == "started");

  TimePoint now = kStart + seconds(1);
  origin.on_evidence({.good = 0, .bad = 0, .disputes = 3}, now);
  CHECK(origin.state() == OriginState::quarantined);
  CHECK(origin.reason() == "lost disputes, sits out for 30 s");
  CHECK(origin.since() == now);

  now += seconds(1);
  origin.on_evidence({.good = 0, .bad = 9, .disputes = 0}, now);
  CHECK(origin.state() == OriginState::down);
  CHECK(origin.reason() == "requests fail");

  now += seconds(1);
  origin.set(Administration::drain, "new kernel", now);
  CHECK(origin.state() == OriginState::drain);
  CHECK(origin.reason() == "new kernel");
  CHECK(origin.since() == now);
  origin.set(Administration::drain, "new disk", now + seconds(1));
  CHECK(origin.reason() == "new disk");
  CHECK(origin.since() == now);

  origin.set(Administration::ready, "done", now + seconds(1));
  CHECK(origin.state() == OriginState::down);
  CHECK(origin.reason() == "requests fail");
  now += seconds(10);
  origin.on_time(now);
  CHECK(origin.state() == OriginState::quarantined);
  now += seconds(30);
  origin.on_time(now);
  CHECK(origin.state() == OriginState::ready);
  CHECK(origin.on_probation());
  CHECK(origin.reason() == "sit-out is over");
  origin.on_evidence({.good = 5, .bad = 0, .disputes = 1}, now);
  CHECK(origin.reason() == "lost a dispute on probation, sits out for 60 s");
}

TEST_CASE(
    "An origin whose refuted answer the group agrees on later was early, and is drawn again") {
  OriginHealth origin(rules_without_checks(), kStart);
  // Each forgives one.
  origin.on_evidence({.disputes = 2}, kStart);
  origin.on_evidence({.vindicated = 1}, kStart);
  origin.on_evidence({.disputes = 1}, kStart);
  CHECK(origin.state() == OriginState::ready);
  origin.on_evidence({.disputes = 1}, kStart);
  REQUIRE(origin.state() == OriginState::quarantined);

  TimePoint now = kStart + seconds(1);
  origin.on_evidence({.vindicated = 1}, now);
  CHECK(origin.state() == OriginState::ready);
  CHECK(origin.reason() == "the group agreed on its answer later");
  // Who lies now and then sits out ever longer.
  CHECK(origin.on_probation());
  origin.on_evidence({.disputes = 1}, now);
  CHECK(origin.state() == OriginState::quarantined);
  CHECK(origin.reason() == "lost a dispute on probation, sits out for 60 s");
  origin.on_evidence({.vindicated = 1}, now);
  now += seconds(30);
  origin.on_time(now);
  CHECK(origin.on_probation());
  now += seconds(30);
  origin.on_time(now);
  CHECK_FALSE(origin.on_probation());
  origin.on_evidence({.disputes = 2}, now);
  CHECK(origin.state() == OriginState::ready);
}

TEST_CASE("An operator ends a quarantine by saying that the origin is ready") {
  OriginHealth origin(rules_without_checks(), kStart);
  origin.on_evidence({.disputes = 3}, kStart);
  REQUIRE(origin.state() == OriginState::quarantined);
  origin.set(Administration::ready, "content is right", kStart + seconds(1));
  CHECK(origin.state() == OriginState::ready);
  CHECK(origin.reason() == "content is right");
  CHECK_FALSE(origin.on_probation());
}

TEST_CASE("In maintenance nothing is held against an origin, and what was is forgotten") {
  OriginHealth origin(rules(), kStart);
  for (int i = 0; i < 3; ++i)
    origin.on_check(false, "timed-out", kStart);
  REQUIRE(origin.state() == OriginState::down);
  CHECK(origin.reason() == "checks fail: timed-out");
  origin.set(Administration::maint, "moving", kStart);
  for (int i = 0; i < 9; ++i) {
    origin.on_check(false, "timed-out", kStart);
    origin.on_evidence({.good = 0, .bad = 100, .disputes = 100}, kStart);
  }
  CHECK(origin.state() == OriginState::maint);
  origin.set(Administration::ready, "moved", kStart + seconds(1));
  CHECK_FALSE(origin.on_probation());
  CHECK(origin.state() == OriginState::ready);
  CHECK(origin.reason() == "moved");
}

TEST_CASE("A check wants a status, and a text in the body") {
  const CheckRule rule{.statuses = {{200, 299}, {301, 301}}, .body = "fine"};
  CHECK(judge(rule, 200, "all is fine") == CheckOutcome::passed);
  CHECK(judge(rule, 299, "fine") == CheckOutcome::passed);
  CHECK(judge(rule, 301, "fine") == CheckOutcome::passed);
  CHECK(judge(rule, 300, "fine") == CheckOutcome::wrong_status);
  CHECK(judge(rule, 503, "fine") == CheckOutcome::wrong_status);
  CHECK(judge(rule, 200, "fin") == CheckOutcome::wrong_body);
  CHECK(judge({.statuses = {{200, 200}}, .body = ""}, 200, "") == CheckOutcome::passed);
}

TEST_CASE("A drain with a time ends in maintenance, where what is left is cut") {
  OriginHealth origin(rules(), kStart);
  origin.set(Administration::drain, "new kernel", kStart, seconds(30));
  REQUIRE(origin.drain_end() == kStart + seconds(30));
  origin.on_time(kStart + seconds(30) - Duration(1));
  CHECK(origin.state() == OriginState::drain);
  CHECK_FALSE(origin.is_cut());
  SECTION("its end") {
    origin.on_time(kStart + seconds(30));
    CHECK(origin.state() == OriginState::maint);
    CHECK(origin.reason() == "new kernel");
    CHECK(origin.since() == kStart + seconds(30));
    CHECK(origin.is_cut());
    CHECK_FALSE(origin.drain_end().has_value());
    // As any maintenance.
    for (int i = 0; i < 10; ++i)
      origin.on_check(false, "test", kStart + seconds(31 + i));
    origin.set(Administration::ready, "done", kStart + seconds(60));
    CHECK(origin.state() == OriginState::ready);
    CHECK_FALSE(origin.is_cut());
  }
  SECTION("taken back") {
    origin.set(Administration::ready, "done", kStart + seconds(30));
    origin.on_time(kStart + seconds(60));
    CHECK(origin.state() == OriginState::ready);
    CHECK_FALSE(origin.is_cut());
  }
  SECTION("without a time, from then on") {
    origin.set(Administration::drain, "new disk", kStart + seconds(30));
    origin.on_time(kStart + seconds(90));
    CHECK(origin.state() == OriginState::drain);
    CHECK_FALSE(origin.drain_end().has_value());
  }
}

}  // namespace prophecy::replica_client

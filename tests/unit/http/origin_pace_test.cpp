// Which reads may share connections to an origin, in virtual time.
#include "http/pipeline/origin_pace.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

constexpr auto kFast = microseconds(200);

using Place = OriginPace::Place;

struct PaceWorld {
  OriginPace pace{{1, 2}};
  TimePoint now = TimePoint{} + seconds(100);
  PathClass page = pace.class_of("GET /page?a=1 HTTP/1.1\r\n");
  PathClass other = pace.class_of("GET /other HTTP/1.1\r\n");

  void answer(PathClass of, int times, Duration took = kFast, std::size_t bytes = 1000,
              Place place = Place::behind) {
    for (int i = 0; i < times; ++i)
      pace.on_answer(of, place, took, bytes, now += microseconds(100));
  }
  void answer_alone(PathClass of, int times, Duration took = kFast) {
    answer(of, times, took, 1000, Place::alone);
  }
  bool shares(PathClass of) const { return pace.depth_max(of, now) == SIZE_MAX; }
  bool is_tried(PathClass of) const { return pace.depth_max(of, now) == OriginPace::kTriedDepth; }
  bool follows(PathClass of, PathClass front, Place place = Place::alone) const {
    return pace.may_follow(of, front, place, now);
  }
  OriginPace::Expected expected(PathClass of) const { return pace.expected(of, now); }
};

constexpr int kStartingLosses = OriginPace::kLossesSaved / 2;

}  // namespace

TEST_CASE("A path's class does not depend on its query, but on the key") {
  const OriginPace pace({1, 2});
  CHECK(pace.class_of("GET /a?b HTTP/1.1\r\n") == pace.class_of("GET /a?c HTTP/1.1\r\n"));
  CHECK(pace.class_of("GET /a HTTP/1.1\r\n") == pace.class_of("GET /a?c HTTP/1.1\r\n"));
  CHECK(pace.class_of("GET /a HTTP/1.1\r\n") != pace.class_of("GET /b HTTP/1.1\r\n"));
  const OriginPace otherwise({3, 4});
  int equal = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string wire = "GET /" + std::to_string(i) + " HTTP/1.1\r\n";
    equal += pace.class_of(wire) == otherwise.class_of(wire) ? 1 : 0;
  }
  CHECK(equal < 10);
  CHECK(pace.class_of("") < OriginPace::kClasses);
  CHECK(pace.class_of("GET") < OriginPace::kClasses);
}

TEST_CASE("A class is quick once a few answers were, and as long as that is not long ago") {
  PaceWorld world;
  CHECK_FALSE(world.shares(world.page));
  world.answer(world.page, OriginPace::kKnownAnswers - 1);
  CHECK_FALSE(world.shares(world.page));
  world.answer(world.page, 1);
  CHECK(world.shares(world.page));
  CHECK_FALSE(world.shares(world.other));
  world.now += OriginPace::kKnownFor + milliseconds(1);
  CHECK_FALSE(world.shares(world.page));
  world.answer(world.page, OriginPace::kKnownAnswers);
  CHECK(world.shares(world.page));
}

TEST_CASE("A slow class is asked one at a time, and one that turns quick is found out") {
  PaceWorld world;
  world.answer(world.page, 20, milliseconds(100));
  world.answer(world.other, 20);
  CHECK_FALSE(world.shares(world.page));
  CHECK(world.shares(world.other));
  world.answer(world.page, 400);
  CHECK(world.shares(world.page));
  CHECK(world.expected(world.page).time < milliseconds(1));
}

TEST_CASE("A class whose answers behind others are not known is tried behind one") {
  PaceWorld world;
  CHECK(world.pace.depth_max(world.page, world.now) == 1);
  world.answer_alone(world.page, OriginPace::kKnownAnswers - 1);
  CHECK_FALSE(world.is_tried(world.page));
  world.answer_alone(world.page, 1);
  CHECK(world.is_tried(world.page));
  CHECK(world.expected(world.page).time == Duration{});
  SECTION("and shares once these are quick") {
    world.answer(world.page, OriginPace::kKnownAnswers - 1);
    CHECK(world.is_tried(world.page));
    world.answer(world.page, 1);
    CHECK(world.shares(world.page));
  }
  SECTION("and not again for long once they are slow") {
    world.answer(world.page, OriginPace::kKnownAnswers, milliseconds(20));
    CHECK(world.pace.depth_max(world.page, world.now) == 1);
    world.now += OriginPace::kKnownFor;
    world.answer_alone(world.page, OriginPace::kKnownAnswers);
    CHECK(world.is_tried(world.page));
    // It has turned quick: what it was does not count.
    world.answer(world.page, OriginPace::kKnownAnswers);
    CHECK(world.shares(world.page));
  }
}

TEST_CASE("An origin whose queue makes every read wait is shared all the same") {
  PaceWorld world;
  world.answer_alone(world.page, 100, milliseconds(25));
  CHECK(world.is_tried(world.page));
  world.answer(world.page, OriginPace::kKnownAnswers, microseconds(100));
  CHECK(world.shares(world.page));
  CHECK(world.expected(world.page).time < milliseconds(1));
  // What takes that long alone at this origin is not late.
  const Duration late_after = world.pace.late_after(Place::alone, world.now);
  CHECK(late_after > OriginPace::kLate);
  CHECK(late_after <= OriginPace::kLateMax);
  CHECK(world.pace.late_after(Place::behind, world.now) == OriginPace::kLate);
  CHECK(world.follows(world.page, world.page));
}

TEST_CASE("A page that is slow alone gives no other one longer before it is late") {
  PaceWorld world;
  world.answer_alone(world.page, 1000);
  world.answer_alone(world.other, 1000, milliseconds(500));
  CHECK(world.pace.late_after(Place::alone, world.now) == OriginPace::kLate);
  // Many of up to 30 ms do.
  world.answer_alone(world.page, 500, milliseconds(20));
  for (int i = 0; i < 100; ++i) {
    world.answer_alone(world.page, 10, milliseconds(20));
    world.answer_alone(world.page, 1, milliseconds(60));
  }
  CHECK(world.pace.late_after(Place::alone, world.now) == OriginPace::kLateMax);
  world.now += OriginPace::kKnownFor + milliseconds(1);
  CHECK(world.pace.late_after(Place::alone, world.now) == OriginPace::kLate);
}

TEST_CASE("A read waits behind an answer alone no longer than about as long as alone") {
  PaceWorld world;
  // The class of a page whose queries cost little in bursts, and much one at a time.
  world.answer(world.page, 100);
  world.answer(world.other, 100);
  world.answer_alone(world.page, 100, milliseconds(50));
  CHECK(world.shares(world.page));
  SECTION("of a page that is quick alone") {
    world.answer_alone(world.other, 100);
    CHECK_FALSE(world.follows(world.other, world.page));
    // It is what the front takes that counts.
    CHECK(world.follows(world.page, world.other));
    CHECK(world.follows(world.other, world.page, Place::behind));
  }
  SECTION("of one whose time alone is not known") {
    CHECK_FALSE(world.follows(world.other, world.page));
    CHECK_FALSE(world.follows(world.page, world.other));
    CHECK(world.follows(world.page, world.other, Place::behind));
  }
  SECTION("of one that takes as long") {
    world.answer_alone(world.other, 100, milliseconds(35));
    CHECK(world.follows(world.other, world.page));
    world.answer_alone(world.other, 100, milliseconds(30));
    CHECK_FALSE(world.follows(world.other, world.page));
    CHECK(world.follows(world.page, world.page));
  }
  SECTION("but waits for a little, whoever it is") {
    world.answer_alone(world.other, 100);
    world.answer_alone(world.page, 100, OriginPace::kFrontTimeMax - milliseconds(1));
    CHECK(world.follows(world.other, world.page));
    world.answer_alone(world.page, 100, OriginPace::kFrontTimeMax + milliseconds(1));
    CHECK_FALSE(world.follows(world.other, world.page));
  }
}

TEST_CASE("A class that is known is no trial of one that is not") {
  PaceWorld world;
  world.answer_alone(world.page, 100);
  world.answer_alone(world.other, 100);
  world.answer(world.other, 100);
  REQUIRE(world.is_tried(world.page));
  REQUIRE(world.shares(world.other));
  for (const Place place : {Place::alone, Place::behind}) {
    CHECK_FALSE(world.follows(world.other, world.page, place));
    CHECK(world.follows(world.page, world.other, place));
    CHECK(world.follows(world.page, world.page, place));
  }
}

TEST_CASE("A class that is slow alone is not tried") {
  PaceWorld world;
  world.answer_alone(world.page, 100, OriginPace::kTriedMax + milliseconds(1));
  CHECK(world.pace.depth_max(world.page, world.now) == 1);
}

TEST_CASE("Trials that do not go well are paid for by answers") {
  PaceWorld world;
  world.answer_alone(world.page, OriginPace::kKnownAnswers);
  for (int i = 0; i < OriginPace::kLossesSaved; ++i) {
    REQUIRE(world.is_tried(world.page));
    world.pace.on_tried();
  }
  CHECK_FALSE(world.is_tried(world.page));
  SECTION("of any class") {
    world.answer(world.other, OriginPace::kAnswersPerLoss, milliseconds(20));
    CHECK(world.is_tried(world.page));
    world.pace.on_tried();
    CHECK_FALSE(world.is_tried(world.page));
  }
  SECTION("or by their own, if it was quick") {
    world.answer(world.page, 1);
    CHECK(world.is_tried(world.page));
  }
}

TEST_CASE("Sharing may cost as many reads as are late alone") {
  PaceWorld world;
  // One answer of fifty to reads alone is late, and one of fifty behind others is lost with it.
  const auto run = [&](bool is_late_alone) {
    world.answer(world.page, OriginPace::kKnownAnswers);
    for (int i = 0; i < 400; ++i) {
      world.answer_alone(world.page, 49);
      if (is_late_alone) world.answer_alone(world.page, 1, 2 * OriginPace::kLateMax);
      world.answer(world.page, 49);
      world.pace.on_late(world.page, 1, world.now);
      world.now += 2 * OriginPace::kLate;
      if (!world.shares(world.page)) return false;
    }
    return true;
  };
  SECTION("late alone as well") {
    CHECK(run(true));
  }
  SECTION("not late alone") {
    CHECK_FALSE(run(false));
  }
}

TEST_CASE("Late answers to reads alone let sharing cost no more than about one read in a hundred") {
  PaceWorld world;
  world.answer(world.page, OriginPace::kKnownAnswers);
  world.answer(world.other, OriginPace::kKnownAnswers);
  int rounds = 0;
  for (; rounds < 400 && world.shares(world.other); ++rounds) {
    // One client's class, each of whose answers is late.
    world.answer(world.page, 1);
    world.answer_alone(world.page, 10, 2 * OriginPace::kLateMax);
    world.answer(world.other, 49);
    world.pace.on_late(world.other, 1, world.now);
    world.now += 2 * OriginPace::kLate;
  }
  CHECK(rounds < 400);
}

TEST_CASE("One answer of twenty that is slow makes a class slow") {
  PaceWorld world;
  for (int i = 0; i < 50; ++i) {
    world.answer(world.page, 19);
    world.answer(world.page, 1, milliseconds(25));
  }
  CHECK_FALSE(world.shares(world.page));
}

TEST_CASE("What is expected of an answer follows those that come") {
  PaceWorld world;
  world.answer(world.page, 100, milliseconds(2), 1000);
  CHECK(world.expected(world.page).time > milliseconds(1));
  CHECK(world.expected(world.page).time < milliseconds(3));
  CHECK(world.expected(world.page).bytes >= 1000);
  // A large one counts at once.
  world.answer(world.page, 1, milliseconds(2), 1 << 20);
  CHECK(world.expected(world.page).bytes >= 1 << 20);
  world.answer(world.page, 200, milliseconds(2), 1000);
  CHECK(world.expected(world.page).bytes < 3000);
}

TEST_CASE("While an answer is late no read is put behind another, of any class") {
  PaceWorld world;
  world.answer(world.page, 100);
  world.answer(world.other, 100);
  world.pace.on_late(world.page, 0, world.now);
  CHECK_FALSE(world.shares(world.other));
  world.now += OriginPace::kLate / 2;
  world.pace.on_still_late(world.now);
  world.now += OriginPace::kLate / 2 + milliseconds(1);
  CHECK_FALSE(world.shares(world.other));
  world.now += OriginPace::kLate;
  CHECK(world.shares(world.other));
}

TEST_CASE("Slow pages with nothing behind them do not keep quick ones from sharing") {
  PaceWorld world;
  world.answer(world.other, 100);
  world.answer_alone(world.page, 100, milliseconds(100));
  world.pace.on_late(world.page, 0, world.now);
  CHECK(world.shares(world.other));
  world.pace.on_late(world.page, 1, world.now);
  CHECK_FALSE(world.shares(world.other));
}

TEST_CASE("A loss of one read in so many answers is paid for") {
  PaceWorld world;
  for (int i = 0; i < 100; ++i) {
    world.answer(world.page, OriginPace::kAnswersPerLoss);
    world.pace.on_late(world.page, 1, world.now);
    world.now += 2 * OriginPace::kLate;
    REQUIRE(world.shares(world.page));
  }
}

TEST_CASE("An origin that costs more is asked one at a time, longer each time") {
  PaceWorld world;
  world.answer(world.page, 10);
  Duration pause = OriginPace::kBackOffMin;
  for (int round = 0; round < 10; ++round) {
    world.pace.on_late(world.page, OriginPace::kLossesSaved + 1, world.now);
    CHECK_FALSE(world.shares(world.page));
    world.now += pause - milliseconds(1);
    world.answer(world.page, 1);
    CHECK_FALSE(world.shares(world.page));
    CHECK_FALSE(world.shares(world.other));
    world.now += milliseconds(2);
    world.answer(world.page, OriginPace::kKnownAnswers);
    CHECK(world.shares(world.page));
    pause = std::min(2 * pause, Duration(OriginPace::kBackOffMax));
  }
  // Until it has been quick for long.
  world.answer(world.page, OriginPace::kAnswersPerLoss * OriginPace::kLossesSaved);
  world.pace.on_late(world.page, OriginPace::kLossesSaved, world.now);
  world.pace.on_late(world.page, 1, world.now);
  CHECK_FALSE(world.shares(world.page));
  world.now += OriginPace::kBackOffMin + milliseconds(1);
  world.answer(world.page, 1);
  CHECK(world.shares(world.page));
}

TEST_CASE("Losses of the same time count for one back-off") {
  PaceWorld world;
  world.answer(world.page, 10);
  for (int i = 0; i < 100; ++i)
    world.pace.on_waited(world.page, OriginPace::kLossesSaved, world.now += microseconds(10));
  world.now += OriginPace::kBackOffMin;
  world.answer(world.page, 1);
  CHECK(world.shares(world.page));
}

TEST_CASE("A class that costs more than others is asked one at a time alone") {
  PaceWorld world;
  world.answer(world.other, 4 * OriginPace::kLossesSaved * OriginPace::kAnswersPerLoss);
  world.answer(world.page, 10);
  world.pace.on_late(world.page, kStartingLosses + 1, world.now);
  world.now += 2 * OriginPace::kLate;
  CHECK_FALSE(world.shares(world.page));
  CHECK(world.shares(world.other));
}

TEST_CASE("The number of answers after which an origin closes is learned, and forgotten") {
  PaceWorld world;
  CHECK(world.pace.answers_max() == SIZE_MAX);
  world.pace.on_closed(100, 5, world.now);
  CHECK(world.pace.answers_max() == 100);
  world.pace.on_kept(99);
  CHECK(world.pace.answers_max() == 100);
  world.pace.on_kept(100);
  CHECK(world.pace.answers_max() == SIZE_MAX);
}

TEST_CASE("An origin that closes when nobody expects it is asked one at a time") {
  PaceWorld world;
  world.answer(world.page, 10);
  SECTION("always after as many answers: learned") {
    for (int i = 0; i < 200; ++i)
      world.pace.on_closed(100, i == 0 ? 15 : 0, world.now);
    CHECK(world.shares(world.page));
  }
  SECTION("after other ones each time") {
    for (std::size_t i = 0; i < 2 * OriginPace::kLossesSaved; ++i)
      world.pace.on_closed(10 + i % 7, 5, world.now);
    CHECK_FALSE(world.shares(world.page));
  }
}

TEST_CASE("What this process sleeps through is no wait for the origin") {
  PaceWorld world;
  const TimePoint since = world.pace.awake(world.now);
  world.pace.begin_ticks(world.now);
  CHECK(world.pace.waited(since, world.now + milliseconds(4)) == milliseconds(4));
  // A tick is due, and has not been served.
  CHECK(world.pace.waited(since, world.now + milliseconds(50)) == OriginPace::kTick);
  CHECK_FALSE(world.pace.on_tick(world.now + milliseconds(50)));
  CHECK(world.pace.waited(since, world.now + milliseconds(52)) ==
        OriginPace::kTick + milliseconds(2));
  CHECK(world.pace.on_tick(world.now + milliseconds(55)));
  const TimePoint later = world.pace.awake(world.now + milliseconds(56));
  CHECK(world.pace.waited(later, world.now + milliseconds(59)) == milliseconds(3));
  world.pace.end_ticks();
  CHECK(world.pace.waited(later, world.now + milliseconds(146)) == milliseconds(90));
}

TEST_CASE("Sleeps add up: an origin does not answer for one after the other") {
  PaceWorld world;
  const TimePoint since = world.pace.awake(world.now);
  world.pace.begin_ticks(world.now);
  for (int tick = 0; tick < 10; ++tick)
    static_cast<void>(world.pace.on_tick(world.now += milliseconds(30)));
  CHECK(world.pace.waited(since, world.now) == 10 * OriginPace::kTick);
}

TEST_CASE("Where every tick comes late, every other one looks all the same") {
  PaceWorld world;
  world.pace.begin_ticks(world.now);
  for (int tick = 1; tick <= 6; ++tick)
    CHECK(world.pace.on_tick(world.now + tick * milliseconds(50)) == (tick % 2 == 0));
}

}  // namespace prophecy::http

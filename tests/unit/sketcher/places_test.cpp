#include "sketcher/core/admission/places.hpp"

#include <catch2/catch.hpp>

#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using test::kStart;

struct PlacesWorld {
  TimeoutQueue idle{seconds(60)};
  TimeoutQueue header{seconds(10)};
  std::vector<int> ended;

  std::size_t end(TimePoint now, std::size_t wanted) {
    return end_idle({&idle, &header}, now, wanted);
  }
};

struct IdleClient final : TimeoutEntry {
  IdleClient(PlacesWorld& of, int n, TimeoutQueue& queue, TimePoint armed,
             Duration from = Duration::zero())
      : world(of), number(n), idle_from(from) {
    queue.arm(*this, armed);
  }
  bool is_idle(Duration waited) const override { return !busy && waited >= idle_from; }
  void on_timeout() override { FAIL("its time is not over"); }
  void on_give_place() override {
    world.ended.push_back(number);
    if (other != nullptr) other->disarm();
  }
  PlacesWorld& world;
  int number;
  Duration idle_from;
  bool busy = false;
  IdleClient* other = nullptr;
};

}  // namespace

TEST_CASE("nobody goes up to seven eighths of the places") {
  STATIC_REQUIRE(Places::free_use(10'000) == 8750);
  STATIC_REQUIRE(Places::free_use(8) == 7);
  STATIC_REQUIRE(Places::free_use(2) == 1);
  STATIC_REQUIRE(Places::free_use(1) == 1);
  const Places places(10'000);
  CHECK(places.wanted(8750, kStart) == 0);
  CHECK(places.wanted(8751, kStart) == 1 + 156);
  CHECK(places.wanted(10'000, kStart) == 1250 + 156);
  CHECK(Places(8).wanted(8, kStart) == 1);
  CHECK(Places(1).wanted(1, kStart) == 0);
}

TEST_CASE("when too few could go, the next look is later") {
  Places places(8);
  places.on_look(1, 1, kStart);
  CHECK(places.wanted(8, kStart) == 1);
  places.on_look(1, 0, kStart);
  CHECK(places.wanted(8, kStart + Places::kRetry - milliseconds(1)) == 0);
  CHECK(places.wanted(8, kStart + Places::kRetry) == 1);
}

TEST_CASE("the longest idle go first, whatever they wait for") {
  PlacesWorld world;
  IdleClient second(world, 2, world.idle, kStart + seconds(2));
  IdleClient fourth(world, 4, world.idle, kStart + seconds(4));
  IdleClient first(world, 1, world.header, kStart + seconds(1));
  IdleClient third(world, 3, world.header, kStart + seconds(3));
  CHECK(world.end(kStart + seconds(5), 3) == 3);
  CHECK(world.ended == std::vector<int>{1, 2, 3});
  CHECK(fourth.armed());
}

TEST_CASE("one that waits for what is left of its time counts as idle from the beginning") {
  PlacesWorld world;
  TimeoutQueue rest{seconds(60)};
  IdleClient younger(world, 2, world.idle, kStart + milliseconds(500));
  IdleClient resting(world, 1, world.idle, kStart);
  rest.arm_for(resting, kStart + seconds(1), seconds(59));
  CHECK(end_idle({&rest, &world.idle}, kStart + seconds(2), 1) == 1);
  CHECK(world.ended == std::vector<int>{1});
  CHECK(younger.armed());
}

TEST_CASE("who is busy stays, and so does who has only just come") {
  PlacesWorld world;
  IdleClient busy(world, 1, world.idle, kStart);
  busy.busy = true;
  IdleClient stalled(world, 2, world.header, kStart, seconds(1));
  IdleClient fresh(world, 3, world.header, kStart + milliseconds(500), seconds(1));
  CHECK(world.end(kStart + seconds(1), 3) == 1);
  CHECK(world.ended == std::vector<int>{2});
  CHECK(busy.armed());
  CHECK(fresh.armed());
}

TEST_CASE("no more go than are wanted, though a busy one waits in front of them") {
  PlacesWorld world;
  IdleClient busy(world, 1, world.idle, kStart);
  busy.busy = true;
  IdleClient idle(world, 2, world.idle, kStart + seconds(1));
  IdleClient later(world, 3, world.idle, kStart + seconds(2));
  CHECK(world.end(kStart + seconds(9), 1) == 1);
  CHECK(world.ended == std::vector<int>{2});
}

TEST_CASE("whose end was another's does not count") {
  PlacesWorld world;
  IdleClient first(world, 1, world.idle, kStart);
  IdleClient second(world, 2, world.idle, kStart + seconds(1));
  IdleClient third(world, 3, world.idle, kStart + seconds(2));
  first.other = &second;
  CHECK(world.end(kStart + seconds(9), 3) == 2);
  CHECK(world.ended == std::vector<int>{1, 3});
}

}  // namespace prophecy::sketcher

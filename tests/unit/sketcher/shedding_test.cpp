#include "sketcher/core/admission/shedding.hpp"

#include <catch2/catch.hpp>

#include "sketcher/core/admission/held_bytes.hpp"
#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using test::kStart;

struct SheddingWorld {
  Counter gauge;
  int told = 0;
  HeldBytes held{800, gauge, [this] { ++told; }};
  TimeoutQueue some{seconds(10)};
  TimeoutQueue others{seconds(30)};
  std::vector<int> ended;

  std::size_t make_room(TimePoint now) {
    held.rearm();
    return shed({&some, &others}, now, [this] { return held.has_spare(); });
  }
};

struct HoldingClient final : TimeoutEntry {
  HoldingClient(SheddingWorld& of, int n, TimeoutQueue& queue, std::size_t bytes,
                TimePoint progress)
      : world(of), number(n), share(of.held) {
    share.set(bytes);
    queue.arm(*this, progress);
  }
  void on_timeout() override {
    world.ended.push_back(number);
    share.set(0);
    if (other != nullptr) other->disarm();
  }
  std::size_t held_bytes() const override { return share.bytes(); }
  SheddingWorld& world;
  int number;
  HeldBytes::Share share;
  HoldingClient* other = nullptr;
};

TEST_CASE("of those that stand still, those go first that hold most") {
  SheddingWorld world;
  HoldingClient little(world, 1, world.some, 100, kStart);
  HoldingClient most(world, 2, world.others, 300, kStart + seconds(2));
  HoldingClient moving(world, 3, world.some, 350, kStart + seconds(4));
  HoldingClient much(world, 4, world.some, 200, kStart + seconds(1));
  CHECK(world.told == 1);
  CHECK(world.make_room(kStart + seconds(4)) == 1);
  CHECK(world.ended == std::vector<int>{2});
  CHECK(world.gauge.get() == 650);
}

TEST_CASE("of those that move, those go first that did so longest ago") {
  SheddingWorld world;
  HoldingClient third(world, 3, world.some, 500, kStart + milliseconds(30));
  HoldingClient first(world, 1, world.others, 50, kStart + milliseconds(10));
  HoldingClient second(world, 2, world.some, 300, kStart + milliseconds(20));
  CHECK(world.make_room(kStart + milliseconds(40)) == 2);
  CHECK(world.ended == std::vector<int>{1, 2});
}

TEST_CASE("who holds nothing stays, whatever is held by others that cannot be shed") {
  SheddingWorld world;
  HoldingClient idle(world, 1, world.some, 0, kStart);
  HeldBytes::Share waiting(world.held);
  waiting.set(900);
  CHECK(world.make_room(kStart + seconds(9)) == 0);
  CHECK(idle.armed());
}

TEST_CASE("who would go on when its time is over gives way for all that") {
  struct Going final : TimeoutEntry {
    void on_timeout() override { queue->arm(*this, kStart + seconds(20)); }
    void on_give_way() override { share->set(0); }
    std::size_t held_bytes() const override { return share->bytes(); }
    TimeoutQueue* queue = nullptr;
    HeldBytes::Share* share = nullptr;
  };
  SheddingWorld world;
  HeldBytes::Share share(world.held);
  share.set(900);
  Going going;
  going.queue = &world.some;
  going.share = &share;
  world.some.arm(going, kStart);
  world.some.expire(kStart + seconds(10));
  CHECK(going.armed());
  CHECK(world.make_room(kStart + seconds(11)) == 1);
  CHECK(world.gauge.get() == 0);
}

TEST_CASE("the end of one may be another's as well") {
  SheddingWorld world;
  HoldingClient second(world, 2, world.some, 400, kStart);
  HoldingClient first(world, 1, world.some, 410, kStart);
  first.other = &second;
  HeldBytes::Share waiting(world.held);
  waiting.set(800);
  CHECK(world.make_room(kStart + seconds(9)) == 1);
  CHECK(world.ended == std::vector<int>{1});
}

TEST_CASE("that it is too much is told once until it was looked at") {
  SheddingWorld world;
  HeldBytes::Share share(world.held);
  share.set(800);
  CHECK(world.told == 0);
  CHECK(world.held.half_used());
  share.set(801);
  share.set(900);
  CHECK(world.told == 1);
  share.set(400);
  CHECK_FALSE(world.held.half_used());
  CHECK(world.held.has_spare());
  world.held.rearm();
  share.set(801);
  CHECK(world.told == 2);
}

}  // namespace
}  // namespace prophecy::sketcher

#include "sketcher/core/read/sigma_order.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

#include "replica_client/sigma_counter.hpp"

namespace prophecy::sketcher {

TEST_CASE("While the group keeps its history, sigmas stay as they are") {
  SigmaOrder order;
  const auto first = order.submit();
  const auto second = order.submit();  // concurrent: may be answered in any order
  CHECK(order.place(second, 20).sigma == 20);
  const auto late = order.place(first, 10);
  CHECK(late.sigma == 10);
  CHECK_FALSE(late.restarted);
  CHECK_FALSE(late.doubtful);
}

TEST_CASE("A group that begins anew goes on beyond all that was before") {
  SigmaOrder order;
  CHECK(order.place(order.submit(), 1000).sigma == 1000);
  const auto before = order.submit();
  const auto anew = order.place(order.submit(), 5);
  CHECK(anew.restarted);
  CHECK(anew.sigma == 1006);
  const auto next = order.place(order.submit(), 6);
  CHECK(next.sigma == 1007);
  CHECK_FALSE(next.doubtful);
  SECTION("what was under way meanwhile is newer than all before, but doubtful") {
    const auto doubtful = order.place(before, 1001);
    CHECK(doubtful.doubtful);
    CHECK_FALSE(doubtful.restarted);
    CHECK(doubtful.sigma > 1007);
  }
  SECTION("a second time as well") {
    const auto again = order.place(order.submit(), 1);
    CHECK(again.restarted);
    CHECK(again.sigma == 1009);
  }
}

// Both are of the new history, which by its numbers looked like the old one when the later of them
// was answered; the other one shows that it is not, and is put behind it.
TEST_CASE("Who shows that the group began anew may be older than what was placed before") {
  SigmaOrder order;
  CHECK(order.place(order.submit(), 10).sigma == 10);
  const auto first = order.submit();
  const auto second = order.submit();
  CHECK_FALSE(order.place(second, 11).restarted);
  const auto shows = order.place(first, 10);
  CHECK(shows.restarted);
  CHECK(shows.sigma > 11);
  CHECK(shows.doubtful);
}

TEST_CASE("Numbers begin beyond what they are told to, and what was under way is doubtful") {
  SigmaOrder order;
  const auto before = order.submit();
  CHECK(order.place(order.submit(), 70).sigma == 70);
  const auto placed = order.place(order.submit(), 80);
  CHECK_FALSE(order.has_begun_anew(placed));
  order.begin_beyond(GENERATE(0, 50, 1000));
  CHECK(order.has_begun_anew(placed));
  const Sigma base = order.newest();
  CHECK(base > 80);
  const auto late = order.place(before, 90);
  CHECK(late.doubtful);
  CHECK(late.sigma == base + 90);
  const auto next = order.place(order.submit(), 91);
  CHECK_FALSE(next.doubtful);
  CHECK_FALSE(next.restarted);
  CHECK(next.sigma == base + 91);
}

// What is placed while the base moves may lie beyond what the new base begins with.
TEST_CASE(
    "What was placed by a base, and is not doubtful, lies below all that the next one places") {
  constexpr int kPlaces = 300'000;
  constexpr int kMovesMin = 20;  // however busy the machine is
  SigmaOrder order;
  std::atomic<bool> stop{false};
  std::thread mover([&] {
    while (!stop)
      order.begin_beyond(0);
  });
  Sigma base = 0;
  Sigma greatest = 0;  // of those by this base that are not doubtful
  int moves = 0;
  int overtaken = 0;
  for (int i = 0; i < kPlaces || moves < kMovesMin; ++i) {
    const auto submitted = order.submit();
    // In the numbers of the group, which goes on behind what was delivered.
    const Sigma delivered = std::max(submitted.base, submitted.newest) - submitted.base;
    const auto placed = order.place(submitted, delivered + 5);
    if (placed.base != base) {
      ++moves;
      overtaken += greatest > placed.base ? 1 : 0;
      base = placed.base;
      greatest = 0;
    }
    if (!placed.doubtful) greatest = std::max(greatest, placed.sigma);
  }
  stop = true;
  mover.join();
  CHECK(overtaken == 0);
}

TEST_CASE("A counter skips numbers only while few were drawn") {
  replica_client::SigmaCounter counter;
  CHECK(counter.next() == 1);
  CHECK(counter.next() == 2);
  CHECK_FALSE(counter.skip_to(100, 1));
  CHECK(counter.next() == 3);
  CHECK(counter.skip_to(100, 3));
  CHECK(counter.next() == 101);
}

TEST_CASE(
    "Numbers that are used up, as liars in a majority may have it, are doubtful and no more") {
  SigmaOrder order;
  CHECK_FALSE(order.place(order.submit(), kSigmaMax).doubtful);
  for (int i = 0; i < 3; ++i) {
    for (const Sigma sigma : {Sigma{1}, kSigmaMax}) {
      const auto placed = order.place(order.submit(), sigma);
      CHECK(placed.doubtful);
      CHECK(placed.sigma == kSigmaMax);
    }
  }
  order.begin_beyond(kSigmaMax);
  CHECK(order.newest() == kSigmaMax);
}

TEST_CASE("An answer that another member has placed lies below all that is submitted later") {
  // Either member may have seen the group begin anew, and the other one not yet.
  const Sigma base = GENERATE(0, 100);
  const Sigma others = GENERATE(0, 100, 200);
  SigmaOrder order;
  if (base != 0) order.begin_beyond(base - 1);
  const Sigma own_base = order.newest();
  const SigmaOrder::Submitted early = order.submit();
  const Sigma number = 7;  // the group's own
  order.note({.sigma = others + number, .base = others, .doubtful = false, .restarted = false});
  const Sigma floor = order.newest();
  CHECK(floor >= others + number);
  CHECK(floor >= own_base + number);
  // Under way, and ordered before it.
  const auto before = order.place(early, number - 1);
  CHECK((before.doubtful || before.sigma <= floor));
  const auto after = order.place(order.submit(), number + 1);
  CHECK((after.doubtful || after.sigma > floor));
}

TEST_CASE("Numbers of another member that are used up are no more than that") {
  SigmaOrder order;
  order.note({.sigma = kSigmaMax, .base = 5, .doubtful = true, .restarted = false});
  CHECK(order.newest() == kSigmaMax);
}

}  // namespace prophecy::sketcher

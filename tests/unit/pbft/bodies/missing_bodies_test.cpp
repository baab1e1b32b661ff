// What bodies cost that are announced and do not come.
#include <string>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

TEST_CASE("One client has a thousand bodies under way, however small, and others find room") {
  constexpr std::uint32_t kMost = 1024;
  Subject backup(2);
  for (std::uint32_t session = 0; session < kMost + 10; ++session)
    backup.feed(announcement(kClient, session));
  CHECK(backup.replica.status().bodies_missing == kMost);
  CHECK(backup.dropped(DropReason::queue_full) == 10);
  backup.feed(announcement(kClient + 1, kMost + 10));
  CHECK(backup.replica.status().bodies_missing == kMost + 1);
}

TEST_CASE("All clients have two thousand bodies under way, and each of them one") {
  constexpr std::uint32_t kMost = 1024;
  Subject backup(2);
  for (std::uint32_t number = 0; number < kMost; ++number)
    backup.feed(announcement(kClient, number));
  for (std::uint32_t number = kMost; number < 2 * kMost; ++number)
    backup.feed(announcement(kClient + 1, number));
  CHECK(backup.replica.status().bodies_missing == 2 * kMost);
  CHECK(backup.dropped(DropReason::queue_full) == 0);
  for (std::uint32_t number = 2 * kMost; number < 2 * kMost + 3; ++number)
    backup.feed(announcement(kClient + 3, number));
  CHECK(backup.replica.status().bodies_missing == 2 * kMost + 1);
  CHECK(backup.dropped(DropReason::queue_full) == 2);
  // Bodies that do not come are given up, and leave their room to others.
  backup.tick(seconds(6));
  CHECK(backup.replica.counters().bodies_given_up == 2 * kMost + 1);
  backup.feed(announcement(kClient + 3, 3 * kMost));
  CHECK(backup.replica.status().bodies_missing == 1);
}

TEST_CASE("A body that does not come is asked for again in time, whatever else is missing") {
  Subject backup(2);
  constexpr std::uint32_t kBodies = 20;
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    backup.now += milliseconds(1);
    backup.feed(announcement(kClient, number));
    REQUIRE(asked_by(backup).size() == 1);
    CHECK(asked_by(backup)[0].parts == std::vector<Digest>{absent_body(number).root});
  }
  // Each 200 ms after it was asked for.
  backup.tick(milliseconds(180));
  CHECK(asked_by(backup).empty());
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    backup.tick(milliseconds(1));
    REQUIRE(asked_by(backup).size() == 1);
    CHECK(asked_by(backup)[0].parts == std::vector<Digest>{absent_body(number).root});
  }
}

}  // namespace prophecy::pbft::test

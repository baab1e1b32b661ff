// What bodies cost that are announced and do not come.
#include <algorithm>
#include <chrono>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

TEST_CASE("One client has a thousand bodies under way, however small, and others find room") {
  constexpr std::uint32_t kMost = 1024;
  Subject backup(2);
  const auto announce = [&](NodeId client, std::uint32_t session) {
    const BodyName name{16, sha256(as_bytes(std::to_string(session)))};
    backup.feed(finish_request(begin_request(name, kReplicas), session, 1, false, 0, ring(client)));
  };
  for (std::uint32_t session = 0; session < kMost + 10; ++session)
    announce(kClient, session);
  CHECK(backup.replica.status().bodies_missing == kMost);
  CHECK(backup.dropped(DropReason::queue_full) == 10);
  announce(kClient + 1, kMost + 10);
  CHECK(backup.replica.status().bodies_missing == kMost + 1);
}

TEST_CASE("A part that nobody wants costs the same, however many bodies are missing") {
  using Clock = std::chrono::steady_clock;
  std::vector<Frame> unwanted;
  for (int i = 0; i < 100; ++i)
    unwanted.push_back(
        encode_part_message(encode_part({}, as_bytes("x" + std::to_string(i))), ring(1)));
  const auto least_time = [&](std::uint32_t missing) {
    Subject backup(2);
    for (std::uint32_t session = 0; session < missing; ++session)
      backup.feed(by_digest(1, {16, sha256(as_bytes(std::to_string(session)))}, session));
    REQUIRE(backup.replica.status().bodies_missing == missing);
    Clock::duration least = Clock::duration::max();
    for (int round = 0; round < 20; ++round) {
      const auto begin = Clock::now();
      for (const Frame& part : unwanted)
        backup.replica.on_frame(*part, backup.now, backup.actions);
      least = std::min(least, Clock::now() - begin);
    }
    return least;
  };
  // It was thirty times as much when each part was held against each body.
  CHECK(least_time(1000) < 8 * least_time(1));
}

}  // namespace prophecy::pbft::test

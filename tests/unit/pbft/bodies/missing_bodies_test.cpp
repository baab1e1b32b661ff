// What bodies cost that are announced and do not come.
#include <string>

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

}  // namespace prophecy::pbft::test

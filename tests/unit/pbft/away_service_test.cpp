// What a replica does while its service is away, and once that is back.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

Frame checkpoint(NodeId from, const CheckpointMessage& claim, const Digest& service) {
  return encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(from));
}

}  // namespace

// Origins may differ honestly, and liars side with one of them.
TEST_CASE("A replica whose service is away keeps its own state for the return, not the group's") {
  Subject backup(1, every_batch());
  const CheckpointMessage claim = execute_one(backup);
  const Digest other = sha256(as_bytes("another state"));
  backup.feed(checkpoint(0, claim, other));
  backup.feed(checkpoint(2, claim, other));
  backup.feed(checkpoint(3, claim, claim.service));
  REQUIRE(backup.replica.status().last_stable == 1);
  backup.restores = 0;
  backup.actions.clear();
  const auto is_away = [&](bool away) {
    backup.replica.on_service_state(away, backup.now, backup.actions);
    backup.answer();
    for (int round = 0; round < 50; ++round) {
      CHECK(backup.sent(MessageType::fetch_parts) == 0);
      backup.tick(milliseconds(100));
    }
  };
  is_away(true);
  CHECK(backup.restores == 0);
  CHECK_FALSE(backup.replica.status().answers);
  is_away(false);
  CHECK(backup.restores == 1);
  CHECK(backup.replica.status().answers);
}

TEST_CASE(
    "A service that comes back is restored, although the group's state was while it was away") {
  Subject other(1, every_batch());
  const CheckpointMessage claim = execute_one(other);
  Subject backup(1, every_batch());
  backup.replica.on_service_state(true, backup.now, backup.actions);
  backup.answer();
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(checkpoint(peer, claim, claim.service));
  for (int round = 0; round < 20 && backup.replica.status().last_executed == 0; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(2)));
  }
  REQUIRE(backup.replica.status().last_executed == 1);
  const std::size_t restores = backup.restores;
  backup.replica.on_service_state(false, backup.now, backup.actions);
  backup.tick(milliseconds(1));
  CHECK(backup.restores == restores + 1);
  CHECK(backup.replica.status().answers);
}

}  // namespace prophecy::pbft::test

// What a replica does when a state cannot be restored, or not be kept.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

TEST_CASE("A service that is lost while it is restored is restored again once it is back") {
  Subject backup(1, every_batch());
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "", ExecutionStatus::lost);
  const auto is_restored = [&](bool lost) {
    backup.actions.clear();
    backup.replica.on_service_state(lost, backup.now, backup.actions);
    backup.now += seconds(2);
    backup.replica.on_tick(backup.now, backup.actions);
    return backup.actions.restore.has_value();
  };
  REQUIRE(is_restored(false));
  CHECK_FALSE(is_restored(true));
  backup.replica.on_restored(true, backup.now, backup.actions);
  CHECK_FALSE(backup.actions.restore);
  CHECK_FALSE(is_restored(true));
  CHECK(backup.replica.status().recovery == RecoveryState::service_lost);
  REQUIRE(is_restored(false));
  backup.actions.clear();
  backup.replica.on_restored(true, backup.now, backup.actions);
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(backup.actions.restore);
    backup.tick(seconds(1));
  }
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("No snapshot is built upon one of which a part is missing") {
  Subject backup(1, every_batch());
  backup.order(1, {request(1)});
  backup.state = "behind the first request";
  const Digest root = sha256(encode_part({}, as_bytes(backup.state)));
  backup.parts.unpinnable = root;
  backup.executed(backup.actions.executions.at(0).id, "result");
  REQUIRE(backup.parts.pins_refused > 0);
  CHECK(backup.replica.counters().snapshots_failed == 1);
  // A service that finds its last root here keeps no unchanged part again (FolderState).
  CHECK_FALSE(backup.parts.holds(root));
  backup.parts.unpinnable.reset();
  backup.order(2, {request(2)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  CHECK(backup.parts.is_pinned(root));
  CHECK(backup.replica.counters().snapshots_failed == 1);
}

TEST_CASE("A fetched state that cannot be kept is looked at again after half a second") {
  Subject backup(1, every_batch());
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  const Frame own = sent_by(backup, MessageType::checkpoint);
  REQUIRE(own != nullptr);
  const auto claim = *decode_checkpoint(*own);
  MemoryPartStore theirs;
  const Digest right = service_state(theirs, "the group's state");
  for (const NodeId peer : {0u, 2u}) {
    backup.feed(encode_checkpoint(claim.sequence, claim.order, claim.replies, right, ring(peer)));
  }
  backup.parts.unpinnable = right;
  backup.tick(milliseconds(300));
  REQUIRE(backup.sent(MessageType::fetch_parts) == 1);
  backup.feed(encode_part_message(*theirs.read(right), ring(0)));
  REQUIRE(backup.parts.pins_refused == 1);
  for (int i = 0; i < 49; ++i)
    backup.tick(milliseconds(10));
  CHECK(backup.parts.pins_refused == 1);
  CHECK(backup.restores == 0);
  backup.parts.unpinnable.reset();
  CHECK(backup.replica.next_timer() <= backup.now + milliseconds(10));
  backup.tick(milliseconds(10));
  if (backup.sent(MessageType::fetch_parts) > 0) {
    backup.feed(encode_part_message(*theirs.read(right), ring(0)));
  }
  backup.tick(milliseconds(0));
  CHECK(backup.restores == 1);
  CHECK(backup.replica.status().recovery == RecoveryState::none);
}

TEST_CASE("What is executed once more behind a repair is compared again") {
  Subject backup(1, every_batch());
  MemoryPartStore theirs;
  const auto execute = [&](std::uint64_t sequence) {
    if (backup.actions.executions.empty()) backup.order(sequence, {request(sequence)});
    REQUIRE(backup.actions.executions.size() == 1);
    backup.executed(backup.actions.executions[0].id, "result");
    return *decode_checkpoint(*sent_by(backup, MessageType::checkpoint));
  };
  const auto claim = [&](NodeId peer, const CheckpointMessage& own, std::string_view state) {
    const Digest root = service_state(theirs, state);
    backup.feed(encode_checkpoint(own.sequence, own.order, own.replies, root, ring(peer)));
    return root;
  };
  Subject other(1, every_batch());
  execute_one(other);
  const CheckpointMessage first = execute(1);
  Digest right{};
  for (const NodeId peer : {0u, 2u})
    right = claim(peer, first, "the group's state");
  backup.tick(milliseconds(300));
  REQUIRE(backup.sent(MessageType::fetch_parts) == 1);
  const CheckpointMessage second = execute(2);
  claim(0, second, "the group's next state");
  claim(2, second, "a lie");
  REQUIRE(backup.replica.status().last_stable == 2);
  std::vector<Frame> parts{encode_part_message(*theirs.read(right), ring(0))};
  for (const auto& [digest, part] : other.parts.all())
    parts.push_back(encode_part_message(part, ring(0)));
  for (std::size_t i = 0; i < 4 * parts.size() && backup.restores == 0; ++i) {
    if (i % parts.size() == 0) backup.tick(milliseconds(100));
    if (backup.restores == 0) backup.feed(parts[i % parts.size()]);
  }
  REQUIRE(backup.restores == 1);
  // It goes wrong once more, and the group is idle from here on.
  execute(2);
  const std::uint64_t found = backup.replica.counters().state_divergences;
  claim(3, second, "the group's next state");
  backup.tick(milliseconds(300));
  CHECK(backup.replica.counters().state_divergences == found + 1);
}

}  // namespace prophecy::pbft::test

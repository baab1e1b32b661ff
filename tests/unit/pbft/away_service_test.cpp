// What a replica does while its service is away, and once that is back.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
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

// Where all services are away, nobody has a state but that of before, and what came since.
TEST_CASE(
    "What a service has missed stays in the log, however much, where nobody else has a state") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 400;
  Subject before(1, settings);
  const CheckpointMessage first = execute_one(before);
  before.now += seconds(2);
  for (const NodeId peer : {0u, 2u})
    before.feed(checkpoint(peer, first, first.service));
  REQUIRE(before.replica.status().base == 1);
  // Until the group stops, since nobody could execute any more of it.
  before.replica.on_service_state(true, before.now, before.actions);
  const bool by_digests = GENERATE(false, true);
  std::uint64_t missed = 2;
  for (;; ++missed) {
    const Frame asked = by_digests ? by_digest(missed) : request(missed, std::string(200, 'o'));
    const Proposal proposal = pre_prepare(missed, {asked});
    before.feed(proposal.frame);
    if (by_digests) deliver(before);
    before.feed(prepare(2, missed, proposal.batch));
    before.feed(commit(0, missed, proposal.batch));
    before.feed(commit(2, missed, proposal.batch));
    if (before.actions.executions.empty()) break;
    before.executed(before.actions.executions[0].id, "", ExecutionStatus::lost);
    const CheckpointMessage claim = own_claim(before);
    CHECK(claim.service == Digest{});
    for (const NodeId peer : {0u, 2u})
      before.feed(checkpoint(peer, claim, {}));
    REQUIRE(before.replica.status().last_stable == missed);
  }
  CHECK(before.dropped(DropReason::queue_full) == 1);
  const std::uint64_t record_max = 8 * settings.log_bytes_max;
  REQUIRE(before.replica.status().log_bytes > record_max);
  const auto executes_again = [](Subject& backup) {
    const std::size_t restores = backup.restores;
    backup.replica.on_service_state(false, backup.now, backup.actions);
    backup.tick(milliseconds(1));
    CHECK(backup.restores == restores + 1);
    REQUIRE_FALSE(backup.actions.executions.empty());
    CHECK(backup.actions.executions[0].sigma >> 16 == 2);
  };
  SECTION("until the service is back") {
    executes_again(before);
  }
  SECTION("and after a restart, before the service is there") {
    Subject again(1, settings, before.restarted(), before.parts);
    REQUIRE(again.replica.status().last_executed == 1);
    const std::vector<Execution> first_ones = again.actions.executions;
    REQUIRE_FALSE(first_ones.empty());
    again.replica.on_service_state(true, again.now, again.actions);
    for (const Execution& execution : first_ones)
      again.executed(execution.id, "", ExecutionStatus::lost);
    for (int round = 0; round < 100 && !again.actions.executions.empty(); ++round)
      again.executed(again.actions.executions[0].id, "", ExecutionStatus::lost);
    REQUIRE(again.replica.status().last_executed == missed - 1);
    executes_again(again);
  }
}

TEST_CASE("A service that was away before its first state was told is restored as well") {
  const KeyRing& own = ring(1);
  MemoryPartStore parts;
  GivenInputs inputs;
  ReplicaActions actions;
  Replica replica(every_batch(), own, parts, inputs);
  TimePoint now{};
  REQUIRE(replica.start({}, now, actions));
  REQUIRE(actions.snapshot);
  // The shell has found the origin away when a client read outside the order.
  replica.on_service_state(true, now, actions);
  replica.on_service_state(false, now, actions);
  actions.clear();
  replica.on_snapshot({}, now, actions);
  for (int round = 0; round < 20 && !actions.snapshot; ++round)
    replica.on_tick(now += milliseconds(100), actions);
  REQUIRE(actions.snapshot);
  actions.clear();
  replica.on_snapshot(service_state(parts, "at the beginning"), now, actions);
  for (int round = 0; round < 20 && !actions.restore; ++round) {
    if (std::exchange(actions.flush_parts, false)) replica.on_parts_flushed(true, now, actions);
    replica.on_tick(now += milliseconds(100), actions);
  }
  REQUIRE(actions.restore);
  CHECK(actions.restore->sequence == 0);
}

// Their replies are equal, but no state of theirs can be had: one of the two may be faulty, and the
// other one is alone.
TEST_CASE("Others' answers are no reason to give up the way back") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  const bool by_numbers = GENERATE(false, true);
  if (by_numbers) {
    settings.window = 16;
    settings.retained_batches = 4;
  } else {
    settings.log_bytes_max = 400;
  }
  Subject backup(1, settings);
  backup.replica.on_service_state(true, backup.now, backup.actions);
  std::uint64_t sequence = 1;
  for (;; ++sequence) {
    REQUIRE(sequence < 100);
    backup.now += milliseconds(50);  // peers' signatures have an allowance
    backup.order(sequence, {request(sequence, std::string(200, 'o'))});
    if (backup.actions.executions.empty()) break;
    backup.executed(backup.actions.executions[0].id, "", ExecutionStatus::lost);
    const CheckpointMessage claim = own_claim(backup);
    for (const NodeId peer : {0u, 2u}) {
      backup.feed(encode_checkpoint(sequence, claim.order, sha256(as_bytes("their replies")), {},
                                    ring(peer)));
    }
    REQUIRE(backup.replica.status().last_stable == sequence);
  }
  CHECK(sequence > 10);
  CHECK(backup.dropped(by_numbers ? DropReason::outside_water_marks : DropReason::queue_full) > 0);
  backup.replica.on_service_state(false, backup.now, backup.actions);
  backup.tick(milliseconds(1));
  CHECK(backup.restores > 0);
  REQUIRE_FALSE(backup.actions.executions.empty());
  CHECK(backup.actions.executions[0].sigma >> 16 == 1);
}

// A state of kind `command` needs a running origin, and no other replica may have it.
TEST_CASE("A start that cannot restore its base tries again") {
  Subject before(1, every_batch());
  const CheckpointMessage first = execute_one(before);
  before.now += seconds(2);
  for (const NodeId peer : {0u, 2u})
    before.feed(checkpoint(peer, first, first.service));
  REQUIRE(before.replica.status().base == 1);
  before.tells_state = false;
  before.order(2, {request(2)});
  before.executed(before.actions.executions[0].id, "result");
  const CheckpointMessage second = own_claim(before);
  for (const NodeId peer : {0u, 2u})
    before.feed(checkpoint(peer, second, {}));
  REQUIRE(before.replica.status().last_stable == 2);
  Subject again(1, every_batch(), before.restarted(), before.parts, Subject::Restores::fail);
  REQUIRE(again.replica.status().recovery == RecoveryState::service_lost);
  again.tick(seconds(5));
  again.restoring = Subject::Restores::succeed;
  for (int round = 0; round < 50 && again.replica.status().last_executed == 0; ++round)
    again.tick(milliseconds(100));
  CHECK(again.replica.status().last_executed == 1);
}

}  // namespace prophecy::pbft::test

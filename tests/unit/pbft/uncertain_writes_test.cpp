// What becomes of a write to which services give no usable answer.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::string_view kAgreed = "the 502 of all";

// Backup 1 has executed the write of this batch, and its service has no usable answer.
struct Uncertain {
  explicit Uncertain(const ReplicaSettings& settings = {}) : backup(1, settings) {
    backup.order(1, {request(1)});
    REQUIRE(backup.actions.executions.size() == 1);
    fail();
  }
  void fail() {
    const std::uint64_t id = backup.actions.executions.at(0).id;
    backup.executed(id, kAgreed, ExecutionStatus::uncertain);
    const Frame said = sent_by(backup, MessageType::uncertain);
    REQUIRE(said != nullptr);
    own = decode_uncertain(*said, kReplicas)->write;
  }
  Frame from(NodeId peer, const Digest& state, UncertainFlags flags = {}) const {
    return encode_uncertain({own.sigma, own.batch, state}, flags, ring(peer));
  }
  Subject backup;
  UncertainWrite own;
};

}  // namespace

TEST_CASE("A write without an answer is settled by 2f+1 equal states, and executed once") {
  Uncertain world;
  Subject& backup = world.backup;
  CHECK(backup.sent(MessageType::reply) == 0);
  CHECK_FALSE(backup.actions.resume);
  backup.feed(world.from(0, world.own.state));
  CHECK(backup.sent(MessageType::reply) == 0);
  backup.feed(world.from(3, world.own.state));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(as_text(decode_reply(*sent_by(backup, MessageType::reply))->result) == kAgreed);
  CHECK(backup.actions.resume == true);
  CHECK(backup.replica.counters().writes_settled == 1);
  CHECK(backup.replica.counters().states_restored == 0);
  CHECK(backup.replica.status().answers);
}

TEST_CASE("Equal states are waited for as long again as the own snapshot took") {
  Subject backup(1, every_batch());
  backup.order(1, {request(1)});
  const std::uint64_t id = backup.actions.executions.at(0).id;
  backup.actions.clear();
  backup.replica.on_executed(id, ExecutionStatus::uncertain, to_bytes(kAgreed), backup.now,
                             backup.actions);
  REQUIRE(backup.actions.snapshot.has_value());
  backup.actions.clear();
  const bool is_endless = GENERATE(false, true);
  backup.now += is_endless ? minutes(5) : seconds(4);
  const Digest state = service_state(backup.parts, backup.state);
  backup.replica.on_snapshot(state, backup.now, backup.actions);
  const auto own = decode_uncertain(*sent_by(backup, MessageType::uncertain), kReplicas)->write;
  backup.feed(encode_uncertain(own, {}, ring(0)));
  const TimePoint begin = backup.now;
  SECTION("in which they come") {
    while (backup.now - begin < milliseconds(4900))
      backup.tick(milliseconds(100));
    backup.feed(encode_uncertain(own, {}, ring(3)));
    CHECK(backup.replica.counters().writes_settled == 1);
    CHECK(backup.replica.counters().writes_repeated == 0);
  }
  SECTION("or do not come") {
    while (backup.replica.counters().writes_repeated == 0 && backup.now - begin < minutes(1))
      backup.tick(milliseconds(100));
    CHECK(backup.now - begin <= (is_endless ? milliseconds(11'100) : milliseconds(5'100)));
    CHECK(backup.now - begin >= (is_endless ? milliseconds(11'000) : milliseconds(5'000)));
  }
}

TEST_CASE("Of another write, batch or state nobody says anything about this one") {
  Uncertain world;
  Subject& backup = world.backup;
  backup.feed(world.from(0, world.own.state));
  backup.feed(world.from(2, Digest{1}));
  const auto& own = world.own;
  backup.feed(encode_uncertain({own.sigma, Digest{1}, own.state}, {}, ring(3)));
  backup.feed(encode_uncertain({own.sigma + 1, own.batch, own.state}, {}, ring(3)));
  CHECK(backup.replica.counters().writes_settled == 0);
  // Nor twice the same replica, or one that cannot prove to be it.
  backup.feed(world.from(0, own.state));
  backup.feed(encode_uncertain({own.sigma, own.batch, own.state}, {}, ring(kClient)));
  CHECK(backup.replica.counters().writes_settled == 0);
  backup.feed(world.from(2, own.state));
  CHECK(backup.replica.counters().writes_settled == 1);
}

TEST_CASE("A read outside the order is no vote while the write is compared that it may have seen") {
  Uncertain world;
  Subject& backup = world.backup;
  const auto status_of_read = [&](std::uint64_t timestamp) {
    backup.feed(request(timestamp, "read", true, 0, 1));
    backup.executed(backup.actions.executions.at(0).id, "seen");
    REQUIRE(backup.sent(MessageType::reply) == 1);
    return decode_reply(*sent_by(backup, MessageType::reply))->status;
  };
  CHECK(status_of_read(1) == ReplyStatus::unavailable);
  backup.feed(world.from(0, world.own.state));
  backup.feed(world.from(3, world.own.state));
  REQUIRE(backup.replica.counters().writes_settled == 1);
  CHECK(status_of_read(2) == ReplyStatus::done);
}

TEST_CASE("Without 2f+1 equal states a write is executed three times at most, then doubted") {
  Uncertain world(every_batch());
  Subject& backup = world.backup;
  std::uint32_t executions = 1;
  for (int tick = 0; tick < 300 && backup.replica.status().last_executed == 0; ++tick) {
    backup.tick(milliseconds(100));
    if (backup.actions.executions.empty()) continue;
    ++executions;
    world.fail();
  }
  CHECK(executions == 3);
  CHECK(backup.replica.counters().writes_repeated == 2);
  CHECK(backup.replica.counters().writes_doubted == 1);
  CHECK(backup.replica.status().last_executed == 1);
  CHECK_FALSE(backup.replica.status().answers);
  // It says what state it has, but nothing of results.
  const Frame frame = sent_by(backup, MessageType::checkpoint);
  REQUIRE(frame != nullptr);
  const auto claim = *decode_checkpoint(*frame);
  CHECK(claim.service != Digest{});
  CHECK(claim.replies == Digest{});
  backup.order(2, {request(2)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(decode_reply(*sent_by(backup, MessageType::reply))->status == ReplyStatus::unavailable);
  const auto say = [&](NodeId peer, const Digest& service) {
    backup.feed(encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(peer)));
  };
  SECTION("a checkpoint shows that it is right") {
    say(0, claim.service);
    say(2, claim.service);
    CHECK(backup.replica.status().answers);
  }
  SECTION("or that f+1 others have another state") {
    MemoryPartStore theirs;
    const Digest right = service_state(theirs, "the group's state");
    say(0, right);
    say(2, right);
    backup.tick(milliseconds(400));
    backup.tick(seconds(60));
    REQUIRE(backup.replica.status().recovery == RecoveryState::fetching);
    backup.feed(encode_part_message(*theirs.read(right), ring(0)));
    CHECK(backup.replica.status().answers);
    CHECK(backup.replica.counters().states_restored == 3);
  }
}

TEST_CASE("A replica that is restarted counts the attempts at a write anew, and no further") {
  Uncertain world(every_batch());
  const auto attempt_until_told = [](Subject& backup, std::uint32_t executions_max) {
    std::uint32_t executions = 0;
    for (int tick = 0; tick < 300 && executions < executions_max; ++tick) {
      while (!backup.actions.executions.empty()) {
        ++executions;
        backup.executed(backup.actions.executions.at(0).id, kAgreed, ExecutionStatus::uncertain);
      }
      backup.tick(milliseconds(100));
    }
    return executions;
  };
  CHECK(attempt_until_told(world.backup, 2) == 2);  // and one before
  REQUIRE(world.backup.replica.counters().writes_doubted == 0);
  Subject again(1, every_batch(), world.backup.restarted(), world.backup.parts);
  again.order(1, {request(1)});
  CHECK(attempt_until_told(again, 10) == 3);
  CHECK(again.replica.counters().writes_repeated == 2);
  CHECK(again.replica.counters().writes_doubted == 1);
}

TEST_CASE("Nor is a write executed more often because a checkpoint before it has a state at last") {
  Subject backup(1, every_batch());
  backup.tells_state = false;
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "result");
  backup.order(2, {request(2)});
  backup.tells_state = true;
  std::uint32_t executions = 0;
  for (int tick = 0; tick < 300 && backup.replica.status().last_executed < 2; ++tick) {
    while (!backup.actions.executions.empty()) {
      const Execution execution = backup.actions.executions.at(0);
      const bool crashes = execution.sigma >> 16 == 2;
      executions += crashes ? 1 : 0;
      backup.executed(execution.id, kAgreed,
                      crashes ? ExecutionStatus::uncertain : ExecutionStatus::done);
    }
    backup.tick(milliseconds(100));
  }
  CHECK(executions == 3);
  CHECK(backup.replica.counters().writes_doubted == 1);
}

TEST_CASE("A write holds up those behind it for seconds, however many came to nothing before") {
  ReplicaSettings settings = every_batch();
  settings.view_change_timeout = minutes(60);
  settings.view_change_timeout_max = minutes(60);
  Subject backup(1, settings);
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    backup.order(sequence, {request(sequence)});
    const TimePoint begin = backup.now;
    while (backup.replica.status().last_executed < sequence && backup.now - begin < minutes(5)) {
      if (backup.actions.executions.empty()) {
        backup.tick(milliseconds(100));
      } else {
        backup.executed(backup.actions.executions.at(0).id, kAgreed, ExecutionStatus::uncertain);
      }
    }
    CHECK(backup.now - begin < seconds(6));
  }
  CHECK(backup.replica.counters().writes_repeated == 8);
  CHECK(backup.replica.counters().writes_doubted == 4);
}

TEST_CASE("A replica behind a checkpoint takes the group's state in place of another attempt") {
  Uncertain world(every_batch());
  Subject& backup = world.backup;
  // The others have gone on, as one does that has had an answer.
  Subject other(1, every_batch());
  other.order(1, {request(1)});
  other.state = "the group's state";
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = *decode_checkpoint(*sent_by(other, MessageType::checkpoint));
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(encode_checkpoint(1, claim.order, claim.replies, claim.service, ring(peer)));
  REQUIRE(backup.replica.status().last_stable == 1);
  backup.tick(seconds(1));
  CHECK(backup.replica.status().recovery == RecoveryState::fetching);
  CHECK(backup.replica.counters().states_restored == 0);
  // Nobody has it any more: then its own state, and once more.
  backup.jump(seconds(2));
  CHECK(backup.replica.counters().states_restored == 1);
  CHECK(backup.actions.executions.size() == 1);
}

TEST_CASE("A replica answers those who compare, at a bounded rate, until a stable checkpoint") {
  Uncertain world;
  Subject& backup = world.backup;
  backup.feed(world.from(0, Digest{1}, {.asks = true}));
  CHECK(backup.sent(MessageType::uncertain) == 1);
  backup.feed(world.from(0, Digest{1}, {.asks = true}));
  CHECK(backup.sent(MessageType::uncertain) == 0);
  backup.tick(milliseconds(50));
  CHECK(backup.sent(MessageType::uncertain) == kReplicas - 1);
}

TEST_CASE("A primary brings about the checkpoint that a replica in doubt waits for") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 4;
  Subject primary(0, settings);
  primary.feed(
      encode_uncertain({std::uint64_t{1} << 16, {}, {}}, {.wants_checkpoint = true}, ring(2)));
  CHECK(primary.sent(MessageType::pre_prepare) > 0);
  Subject quiet(0, settings);
  quiet.feed(encode_uncertain({std::uint64_t{1} << 16, {}, {}}, {}, ring(2)));
  CHECK(quiet.sent(MessageType::pre_prepare) == 0);
}

TEST_CASE("A state that was compared leaves no parts behind") {
  Subject backup(1, every_batch());
  const auto parts_after = [&](std::uint64_t sequence) {
    backup.order(sequence, {request(sequence)});
    backup.state = "behind the write " + std::to_string(sequence);
    backup.executed(backup.actions.executions.at(0).id, kAgreed, ExecutionStatus::uncertain);
    const auto own = decode_uncertain(*sent_by(backup, MessageType::uncertain), kReplicas)->write;
    // At the checkpoint it is another one: the origin's own work, say.
    backup.state = "at the checkpoint " + std::to_string(sequence);
    backup.feed(encode_uncertain(own, {}, ring(0)));
    backup.feed(encode_uncertain(own, {}, ring(3)));
    REQUIRE(backup.replica.counters().writes_settled == sequence);
    const auto claim = *decode_checkpoint(*sent_by(backup, MessageType::checkpoint));
    for (const NodeId peer : {0u, 2u}) {
      backup.feed(
          encode_checkpoint(sequence, claim.order, claim.replies, claim.service, ring(peer)));
    }
    backup.now += seconds(2);
    return backup.parts.parts();
  };
  for (std::uint64_t sequence = 1; sequence < 4; ++sequence)
    (void)parts_after(sequence);
  const std::size_t before = parts_after(4);
  for (std::uint64_t sequence = 5; sequence < 12; ++sequence)
    CHECK(parts_after(sequence) <= before);
}

TEST_CASE("A replica that names far numbers gets one checkpoint at a time, and fewer each time") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 4;
  settings.batches_in_flight_max = 1000;
  Subject primary(0, settings);
  std::uint64_t far = settings.window;
  const auto ask = [&] {
    primary.feed(encode_uncertain({far-- << 16, {}, {}}, {.wants_checkpoint = true}, ring(2)));
    return primary.sent(MessageType::pre_prepare) / (kReplicas - 1);
  };
  CHECK(ask() <= 2 * settings.checkpoint_interval);
  std::size_t checkpoints = 0;
  for (int second = 0; second < 600; ++second) {
    primary.tick(seconds(1));
    if (ask() > 0) ++checkpoints;
  }
  CHECK(checkpoints < 12);
}

}  // namespace prophecy::pbft::test

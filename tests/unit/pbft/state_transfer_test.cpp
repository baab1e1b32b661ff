// A replica that takes a state over from others: the state that it gets, and its answers
// afterwards.
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "pbft/core/recovery/state_fetch.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

CheckpointMessage claim_of(const Subject& subject) {
  return *decode_checkpoint(*sent_by(subject, MessageType::checkpoint));
}

}  // namespace

TEST_CASE("A fetch of a state that nobody hands over any more goes on to a later one") {
  Subject other(1, every_batch());
  const auto executed = [&](std::uint64_t sequence) {
    other.order(sequence, {request(sequence)});
    other.executed(other.actions.executions.at(0).id, "result");
    return claim_of(other);
  };
  const auto first = executed(1);
  std::set<Digest> of_first;
  for (const auto& [digest, part] : other.parts.all())
    of_first.insert(digest);
  const auto second = executed(2);
  Subject backup(1, every_batch());
  const auto claim = [&](const CheckpointMessage& message) {
    for (const NodeId peer : {0u, 2u, 3u})
      backup.feed(encode_checkpoint(message.sequence, message.order, message.replies,
                                    message.service, ring(peer)));
  };
  claim(first);
  backup.tick(seconds(1));
  REQUIRE(backup.replica.status().recovery == RecoveryState::fetching);
  claim(second);
  for (int round = 0; round < 12 && backup.replica.status().last_executed == 0; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all()) {
      if (!of_first.contains(digest)) backup.feed(encode_part_message(part, ring(2)));
    }
  }
  CHECK(backup.replica.status().last_executed == 2);
}

TEST_CASE(
    "A replica that has lost its service asks for claims that it lacks of the group's state") {
  Subject other(1, every_batch());
  other.order(1, {request(1)});
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = claim_of(other);
  const auto claim_from = [&](NodeId from, const Digest& service) {
    return encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(from));
  };
  Subject backup(1, every_batch());
  const auto stable_said = [&] {
    backup.tick(ReplicaSettings().heartbeat_interval);
    REQUIRE(backup.sent(MessageType::status) == kReplicas - 1);
    return decode_status(*sent_by(backup, MessageType::status), kReplicas)->last_stable;
  };
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "", ExecutionStatus::lost);
  backup.feed(claim_from(0, claim.service));
  backup.feed(claim_from(2, sha256(as_bytes("a lie"))));
  REQUIRE(backup.replica.status().last_stable == 1);
  // The third claim is lost, and the group is idle.
  CHECK(stable_said() == 0);
  CHECK(stable_said() == 0);
  backup.feed(claim_from(3, claim.service));
  CHECK(stable_said() == 1);
  for (int round = 0; round < 20 && backup.restores == 0; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(3)));
  }
  CHECK(backup.replica.status().recovery == RecoveryState::none);
  CHECK(backup.replica.status().answers);
}

TEST_CASE("A replica does not go back to a state that it has passed while it fetched it") {
  ReplicaSettings settings = every_batch();
  settings.window = 8;
  settings.retained_batches = 1;
  Subject other(1, settings);
  Subject backup(1, settings);
  std::vector<CheckpointMessage> claims;
  std::vector<std::map<Digest, Bytes>> parts;
  for (std::uint64_t sequence = 1; sequence <= 8; ++sequence) {
    other.order(sequence, {request(sequence)});
    other.executed(other.actions.executions.at(0).id, "result");
    claims.push_back(claim_of(other));
    parts.emplace_back(other.parts.all().begin(), other.parts.all().end());
  }
  const auto make_stable = [&](std::uint64_t sequence) {
    const CheckpointMessage& claim = claims.at(sequence - 1);
    for (const NodeId peer : {0u, 2u, 3u})
      backup.feed(checkpoint(peer, claim, claim.service));
    REQUIRE(backup.replica.status().last_stable == sequence);
  };
  const auto bring = [&](std::uint64_t sequence) {
    for (const auto& [digest, part] : parts.at(sequence - 1))
      backup.feed(encode_part_message(part, ring(2)));
  };
  make_stable(3);
  REQUIRE(backup.replica.status().recovery == RecoveryState::fetching);
  backup.now += milliseconds(50);
  make_stable(8);
  // The batches that it lacks come all the same.
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    const Proposal proposal = pre_prepare(sequence, {request(sequence)});
    for (const NodeId peer : {2u, 3u})
      backup.feed(encode_vote(MessageType::decision, 0, sequence, proposal.batch, ring(peer)));
    backup.feed(proposal.frame);
    backup.executed(backup.actions.executions.at(0).id, "result");
  }
  REQUIRE(backup.replica.status().last_executed == 4);
  CHECK(backup.replica.counters().batches_executed == 4);
  bring(3);
  CHECK(backup.restores == 0);
  CHECK(backup.replica.status().last_executed == 4);
  for (int round = 0; round < 20 && backup.restores == 0; ++round) {
    backup.tick(milliseconds(100));
    bring(8);
  }
  CHECK(backup.replica.status().last_executed == 8);
}

TEST_CASE("A state is taken over without the replies that nobody hands over any more") {
  Subject other(1, every_batch());
  other.order(1, {request(7)});
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = claim_of(other);
  std::set<Digest> of_replies{claim.replies};
  while (true) {
    const std::size_t known = of_replies.size();
    for (const Digest& digest : std::set<Digest>(of_replies)) {
      const auto part = other.parts.read(digest);
      const auto children = decode_part(*part)->children;
      of_replies.insert(children.begin(), children.end());
    }
    if (of_replies.size() == known) break;
  }
  Subject backup(1, every_batch());
  for (const NodeId peer : {0u, 2u, 3u}) {
    backup.feed(
        encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service, ring(peer)));
  }
  backup.now += seconds(1);
  const auto run = [&](int rounds, bool with_replies) {
    for (int round = 0; round < rounds && backup.replica.status().last_executed == 0; ++round) {
      backup.tick(milliseconds(100));
      for (const auto& [digest, part] : other.parts.all()) {
        if (with_replies || !of_replies.contains(digest)) {
          backup.feed(encode_part_message(part, ring(2)));
        }
      }
    }
    return backup.replica.status().last_executed;
  };
  // They may be late.
  REQUIRE(run(10, false) == 0);
  const bool has_replies = GENERATE(false, true);
  REQUIRE(run(100, has_replies) == 1);
  CHECK(backup.replica.status().answers);
  backup.feed(request(7));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  const auto status = decode_reply(*sent_by(backup, MessageType::reply))->status;
  CHECK((status == ReplyStatus::done) == has_replies);
}

TEST_CASE("A replica that nobody can give a state to asks an idle group for a checkpoint") {
  Subject backup(1, every_batch());
  backup.restoring = Subject::Restores::fail;  // its disk has lost it
  backup.actions.clear();
  backup.replica.on_service_state(true, backup.now, backup.actions);
  backup.replica.on_service_state(false, backup.now, backup.actions);
  backup.answer();
  REQUIRE(backup.replica.status().recovery == RecoveryState::service_lost);
  Frame asked;
  for (int round = 0; round < 40 && asked == nullptr; ++round) {
    backup.tick(milliseconds(100));
    asked = sent_by(backup, MessageType::uncertain);
    // Claims that were lost may come again first.
    if (round < 15) REQUIRE(asked == nullptr);
  }
  REQUIRE(asked != nullptr);
  const auto message = decode_uncertain(*asked, kReplicas);
  REQUIRE(message);
  CHECK(message->wants_checkpoint);
  CHECK(message->write.sigma >> 16 == 1);
}

TEST_CASE("What was fetched of a state that is not needed any more goes a minute later") {
  const Bytes leaf = encode_part({}, as_bytes("leaf"));
  const std::vector<Digest> children{sha256(leaf), sha256(as_bytes("one that never comes"))};
  const Bytes root = encode_part(children, as_bytes("of another state"));
  Subject backup(1, every_batch());
  const auto execute = [&](std::uint64_t sequence) {
    backup.order(sequence, {request(sequence)});
    backup.executed(backup.actions.executions.at(0).id, "result");
    return claim_of(backup);
  };
  const auto claimed = [&](const CheckpointMessage& claim, const Digest& service) {
    for (const NodeId peer : {0u, 2u}) {
      backup.feed(
          encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(peer)));
    }
  };
  claimed(execute(1), sha256(root));
  for (int round = 0; round < 20 && !backup.parts.holds(sha256(leaf)); ++round) {
    backup.tick(milliseconds(100));
    backup.feed(encode_part_message(root, ring(2)));
    backup.feed(encode_part_message(leaf, ring(2)));
  }
  REQUIRE(backup.parts.holds(sha256(leaf)));
  REQUIRE(backup.replica.status().recovery == RecoveryState::fetching);
  const auto later = execute(2);
  claimed(later, later.service);
  REQUIRE(backup.replica.status().recovery == RecoveryState::none);
  for (int second = 0; second < 58; ++second)
    backup.tick(seconds(1));
  CHECK(backup.parts.holds(sha256(leaf)));
  for (int second = 0; second < 5; ++second)
    backup.tick(seconds(1));
  CHECK_FALSE(backup.parts.holds(sha256(leaf)));
  CHECK(backup.replica.status().answers);
}

TEST_CASE("Nothing more is fetched than the disk takes") {
  Subject other(1, every_batch());
  other.order(1, {request(1)});
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = claim_of(other);
  Subject backup(1, every_batch());
  backup.parts.is_behind = true;
  for (const NodeId peer : {0u, 2u, 3u}) {
    backup.feed(
        encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service, ring(peer)));
  }
  const auto asks = [&] {
    for (int round = 0; round < 10; ++round) {
      backup.tick(milliseconds(100));
      if (backup.sent(MessageType::fetch_parts) > 0) return true;
    }
    return false;
  };
  CHECK_FALSE(asks());
  CHECK(backup.replica.status().recovery == RecoveryState::fetching);
  backup.parts.is_behind = false;
  CHECK(asks());
}

TEST_CASE("A replica that has a state without a reply says that it has none") {
  Subject other(1, every_batch());
  other.order(1, {request(7)});
  other.executed(other.actions.executions.at(0).id, "result");
  const auto claim = claim_of(other);
  // Their replies differ.
  const auto claim_without_replies = [&](NodeId from) {
    return encode_checkpoint(claim.sequence, claim.order,
                             sha256(Bytes(1, static_cast<std::uint8_t>(from))), claim.service,
                             ring(from));
  };
  Subject backup(1, every_batch());
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(claim_without_replies(peer));
  backup.now += seconds(1);
  for (int round = 0; round < 20 && backup.replica.status().last_executed == 0; ++round) {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(2)));
  }
  REQUIRE(backup.replica.status().last_executed == 1);
  backup.feed(request(7));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(decode_reply(*sent_by(backup, MessageType::reply))->status == ReplyStatus::unavailable);
  // Not as often as it is asked.
  backup.feed(request(7));
  CHECK(backup.sent(MessageType::reply) == 0);
  // What is executed here has its answer.
  backup.order(2, {request(8)});
  CHECK(backup.sent(MessageType::reply) == 0);
  backup.feed(request(8));
  CHECK(backup.sent(MessageType::reply) == 0);
}

TEST_CASE("What a fetch has stays while other trees that have it in common come and go") {
  GivenInputs inputs;
  Context context{{}, ring(1), QuorumRule::standard(1), 1, inputs};
  MemoryPartStore parts;
  StateFetch fetch(context, parts);
  const Bytes leaf = encode_part({}, as_bytes("leaf"));
  const Bytes shared = encode_part(std::vector{sha256(leaf)}, as_bytes("shared"));
  const Bytes last = encode_part({}, as_bytes("the last one"));
  const std::vector<Digest> children{sha256(shared), sha256(last)};
  const Bytes root = encode_part(children, as_bytes("root"));
  const auto arrives = [&](const Bytes& part) {
    ReplicaActions out;
    fetch.on_part(sha256(part), part, out);
  };
  const auto pin_another = [&] {
    REQUIRE(parts.keep(sha256(leaf), leaf));
    REQUIRE(parts.keep(sha256(shared), shared));
    REQUIRE(parts.pin(sha256(shared)));
  };
  const bool is_here_before = GENERATE(false, true);
  if (is_here_before) pin_another();
  ReplicaActions out;
  fetch.begin({1, sha256(root), {}, {}}, 0b1101, StateFetch::Trust::pins, out);
  arrives(root);
  if (!is_here_before) {
    arrives(shared);
    arrives(leaf);
    pin_another();
  }
  parts.unpin(sha256(shared));
  REQUIRE(fetch.parts_missing() == 2);
  arrives(last);
  REQUIRE(fetch.state() == StateFetch::State::complete);
  REQUIRE(parts.pin(sha256(root)));
  fetch.stop();
  fetch.release_kept();
  CHECK(parts.parts() == 4);
  parts.unpin(sha256(root));
  CHECK(parts.parts() == 0);
}

TEST_CASE("A replica that was late with a state is asked again for the next one") {
  GivenInputs inputs;
  Context context{{}, ring(1), QuorumRule::standard(1), 1, inputs};
  MemoryPartStore parts;
  StateFetch fetch(context, parts);
  const auto asked = [&](auto event) {
    ReplicaActions out;
    event(out);
    REQUIRE(out.sends.size() == 1);
    return out.sends[0].to;
  };
  const auto begin = [&](ReplicaActions& out) {
    // It has claimed that state itself, and is not asked.
    const CheckpointClaim claim{1, sha256(as_bytes("order")), {}, {}};
    fetch.begin(claim, 0b0111, StateFetch::Trust::pins, out);
  };
  CHECK(asked(begin) == 2);
  context.now += milliseconds(200);
  CHECK(asked([&](ReplicaActions& out) { fetch.on_tick(out); }) == 0);
  fetch.stop();
  CHECK(asked(begin) == 2);
}

}  // namespace prophecy::pbft::test

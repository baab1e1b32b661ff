// How long a body stays: for as long as a restart may execute its batch, or has promised it.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/every_batch.hpp"

namespace prophecy::pbft::test {
namespace {

CheckpointMessage claim_about_body(const Subject& subject) {
  return *decode_checkpoint(*sent_by(subject, MessageType::checkpoint));
}

void order_proposal(Subject& subject, const Proposal& proposal) {
  subject.feed(proposal.frame);
  deliver(subject);
  subject.feed(prepare(2, 1, proposal.batch));
  subject.feed(commit(0, 1, proposal.batch));
  subject.feed(commit(2, 1, proposal.batch));
  subject.executed(subject.actions.executions.at(0).id, "result");
}

TEST_CASE("What is prepared outlasts a crash with its bodies, and goes with its batch") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  settings.retained_batches = 0;
  Subject backup(1, settings);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  deliver(backup);
  CHECK(backup.parts.is_pinned(tree().name().root));
  SECTION("a crash") {
    MemoryPartStore parts;
    for (const auto& [digest, part] : backup.parts.all())
      REQUIRE(parts.keep(digest, part));
    ReplicaActions actions;
    Replica again(settings, ring(1), parts, backup.inputs);
    REQUIRE(again.start(backup.restarted(), backup.now, actions));
    CHECK(parts.is_pinned(tree().name().root));
    CHECK(again.status().bodies_missing == 0);
  }
  SECTION("a stable checkpoint") {
    backup.feed(prepare(2, 1, proposal.batch));
    backup.feed(commit(0, 1, proposal.batch));
    backup.feed(commit(2, 1, proposal.batch));
    backup.executed(backup.actions.executions.at(0).id, "done");
    CHECK(backup.parts.holds(tree().name().root));
    CheckpointMessage own;
    for (const Outgoing& outgoing : backup.actions.sends) {
      if (const auto claim = decode_checkpoint(*outgoing.frame)) own = *claim;
    }
    REQUIRE(own.sequence == 1);
    const Digest order = own.order;
    const Digest replies = own.replies;
    const Digest service = own.service;
    backup.feed(encode_checkpoint(1, order, replies, service, ring(0)));
    backup.feed(encode_checkpoint(1, order, replies, service, ring(2)));
    backup.tick(seconds(2));
    CHECK(backup.replica.status().last_stable == 1);
    CHECK(backup.replica.status().base == 1);
    // A restart begins before it for as long as the record of that may not be on the disk.
    CHECK(backup.parts.holds(tree().name().root));
    backup.tick(seconds(2));
    CHECK_FALSE(backup.parts.holds(tree().name().root));
  }
}

// The start of a replica reads more in one event than any later one does.
TEST_CASE("What is prepared outlasts a crash with a body of megabytes") {
  auto bytes = std::make_shared<Bytes>(std::size_t{6} << 20);
  for (std::size_t at = 0; at < bytes->size(); at += 1000)
    (*bytes)[at] = static_cast<std::uint8_t>(at / 1000 * 31 ^ at >> 17);
  const BodyTree large(bytes, 128 * 1024);
  Subject before(1);
  before.feed(pre_prepare(1, {by_digest(1, large.name())}).frame);
  deliver(before, large);
  REQUIRE(before.sent(MessageType::prepare) == kReplicas - 1);
  MemoryPartStore parts;
  for (const auto& [digest, part] : before.parts.all())
    REQUIRE(parts.keep(digest, part));
  ReplicaActions actions;
  Replica again({}, ring(1), parts, before.inputs);
  REQUIRE(again.start(before.restarted(), before.now, actions));
  parts.sweep();
  CHECK(parts.is_pinned(large.name().root));
  CHECK(again.status().bodies_missing == 0);
}

TEST_CASE("A state takes no body away that a restart may still be asked for") {
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  Subject other(1, every_batch());
  order_proposal(other, proposal);
  const auto claim = claim_about_body(other);
  ReplicaSettings settings = every_batch();
  settings.retained_batches = 0;
  Subject backup(1, settings);
  // It has promised the batch, and not executed it, when it gets the state behind it. Its disk
  // stalls: the journal may have the promise, and not yet that it is needless.
  backup.feed(proposal.frame);
  deliver(backup);
  backup.answers_flushes = false;
  for (const NodeId peer : {0u, 2u, 3u})
    backup.feed(encode_checkpoint(1, claim.order, claim.replies, claim.service, ring(peer)));
  const auto pass_time = [&] {
    backup.tick(milliseconds(100));
    for (const auto& [digest, part] : other.parts.all())
      backup.feed(encode_part_message(part, ring(2)));
  };
  for (int round = 0; round < 20 && backup.replica.status().last_executed == 0; ++round)
    pass_time();
  REQUIRE(backup.replica.status().last_executed == 1);
  CHECK(backup.parts.is_pinned(tree().name().root));
  // A base that the disk surely names ends it.
  backup.answers_flushes = true;
  backup.actions.clear();
  backup.replica.on_parts_flushed(true, backup.now, backup.actions);
  backup.answer();
  CHECK(backup.replica.status().base == 1);
  CHECK(backup.parts.is_pinned(tree().name().root));
  for (int round = 0; round < 20; ++round)
    pass_time();
  CHECK_FALSE(backup.parts.is_pinned(tree().name().root));
}

// Of a proposal that has come: the rest of its agreement, its execution, and 2f+1 claims behind it.
void make_stable(Subject& backup, std::uint64_t sequence, const Digest& batch) {
  backup.feed(prepare(2, sequence, batch));
  backup.feed(commit(0, sequence, batch));
  backup.feed(commit(2, sequence, batch));
  backup.executed(backup.actions.executions.at(0).id, "result");
  const CheckpointMessage own = claim_about_body(backup);
  const Digest order = own.order;
  const Digest replies = own.replies;
  const Digest service = own.service;
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(sequence, order, replies, service, ring(peer)));
  REQUIRE(backup.replica.status().last_stable == sequence);
}

TEST_CASE("A log that is full takes no body away that a restart executes again") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 400;  // less than the batch with its body
  Subject backup(1, settings);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  backup.feed(proposal.frame);
  deliver(backup);
  backup.answers_flushes = false;  // from here on its disk stalls
  make_stable(backup, 1, proposal.batch);
  const Proposal next = pre_prepare(2, {request(2)});
  backup.feed(next.frame);
  make_stable(backup, 2, next.batch);
  CHECK(backup.replica.status().log_bytes == next.frame->size());
  CHECK(backup.replica.status().base == 0);
  CHECK(backup.parts.is_pinned(tree().name().root));
}

// Where all have lost their power, nobody has a later state than that on the disks.
TEST_CASE("A restart executes what it has on record, however much that is") {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 200;
  Subject backup(1, settings);
  const Proposal first = pre_prepare(1, {request(1)});
  backup.now += seconds(2);
  backup.feed(first.frame);
  make_stable(backup, 1, first.batch);
  REQUIRE(backup.replica.status().base == 1);
  backup.answers_flushes = false;
  const Proposal proposal = pre_prepare(2, {by_digest(2)});
  backup.feed(proposal.frame);
  deliver(backup);
  backup.answers_flushes = true;  // of bodies, not of the base
  backup.answer();
  backup.answers_flushes = false;
  make_stable(backup, 2, proposal.batch);
  REQUIRE(backup.replica.status().base == 1);
  Subject again(1, settings, backup.restarted(), backup.parts);
  REQUIRE(again.replica.status().last_stable == 2);
  REQUIRE(again.replica.status().last_executed == 1);
  REQUIRE(again.actions.executions.size() == 1);
  again.executed(again.actions.executions[0].id, "result");
  CHECK(again.replica.status().last_executed == 2);
}

}  // namespace
}  // namespace prophecy::pbft::test

// A replica that is behind a checkpoint that is stable: what it blames nobody for, what it does as
// primary, and how it comes to a state while the others go on.
#include <algorithm>

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

// What replica 1 says of the checkpoint behind the one batch that it has executed.
CheckpointMessage claim_behind(const Frame& request) {
  Subject replica(1, every_batch());
  return execute_one(replica, request);
}

// All others have signed it.
void make_stable(Subject& subject, std::uint64_t sequence, const Digest& order,
                 const Digest& replies, const Digest& service) {
  for (NodeId peer = 0; peer < kReplicas; ++peer) {
    if (peer == subject.node) continue;
    subject.feed(encode_checkpoint(sequence, order, replies, service, ring(peer)));
  }
  REQUIRE(subject.replica.status().last_stable == sequence);
}

// Votes at or below the checkpoint are not looked at any more: others tell what was decided.
void tell_decided(Subject& subject, std::uint64_t sequence, const Proposal& proposal) {
  for (const NodeId peer : {2U, 3U})
    subject.feed(encode_vote(MessageType::decision, 0, sequence, proposal.batch, ring(peer)));
  subject.feed(proposal.frame);
}

ReplicaSettings with_little_memory() {
  ReplicaSettings settings = every_batch();
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 2000;
  settings.retained_batches = 100;
  return settings;
}

// Batches 2 to 80, each of which becomes stable. What this replica's log holds most meanwhile.
std::uint64_t most_bytes_while_others_order(Subject& backup) {
  std::uint64_t most = 0;
  for (std::uint64_t sequence = 2; sequence <= 80; ++sequence) {
    backup.now += milliseconds(50);  // peers' signatures have an allowance
    backup.order(sequence, {request(sequence, std::string(300, 'o'))});
    const Digest theirs = sha256(as_bytes(std::to_string(sequence)));
    make_stable(backup, sequence, theirs, theirs, theirs);
    most = std::max(most, backup.replica.status().log_bytes);
  }
  return most;
}

}  // namespace

TEST_CASE("A backup behind the stable checkpoint holds requests against nobody until it is there") {
  const CheckpointMessage claim = claim_behind(request(1));
  Subject backup(1, every_batch());
  backup.tick(milliseconds(0));
  backup.feed(retransmitted(request(1, "another", false, 0, kAnotherSession)));
  backup.tick(kPatience - milliseconds(100));
  make_stable(backup, 1, claim.order, claim.replies, claim.service);
  backup.tick(20 * kPatience);
  CHECK(backup.replica.counters().view_changes_started == 0);
  tell_decided(backup, 1, pre_prepare(1, {request(1)}));
  REQUIRE(backup.replica.status().last_ordered == 1);
  // It goes on waiting where it was.
  backup.tick(milliseconds(99));
  CHECK(backup.replica.status().state == ReplicaState::normal);
  backup.tick(milliseconds(1));
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("What is agreed on beyond the stable checkpoint waits for a state, and blames nobody") {
  const CheckpointMessage claim = claim_behind(request(1));
  Subject backup(1, every_batch());
  backup.tick(milliseconds(0));
  make_stable(backup, 1, claim.order, claim.replies, claim.service);
  backup.order(2, {request(2)});
  REQUIRE(backup.replica.status().last_ordered == 0);
  backup.tick(20 * kPatience);
  CHECK(backup.replica.counters().view_changes_started == 0);
  // Behind it, one that is not agreed on counts.
  backup.feed(pre_prepare(3, {request(3)}).frame);
  backup.tick(kPatience);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A primary behind the stable checkpoint proposes all the same") {
  const CheckpointMessage claim = claim_behind(request(1));
  ReplicaSettings settings = every_batch();
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 1;
  Subject primary(0, settings);
  make_stable(primary, 1, claim.order, claim.replies, claim.service);
  primary.feed(request(1, "a", false, 0, kAnotherSession));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const Frame frame = sent_by(primary, MessageType::pre_prepare);
  CHECK(decode_pre_prepare(*frame, kReplicas)->sequence == 2);
  primary.feed(request(1, "b", false, 0, kAnotherSession + 1));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  // What is agreed on is not in flight any more, though it is not executed here.
  const Digest batch = pre_prepare(2, {request(1, "a", false, 0, kAnotherSession)}, 0, 0,
                                   {GivenInputs().time, GivenInputs().seed})
                           .batch;
  for (const NodeId peer : {1U, 2U})
    primary.feed(prepare(peer, 2, batch));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  for (const NodeId peer : {1U, 2U})
    primary.feed(commit(peer, 2, batch));
  CHECK(primary.replica.status().last_ordered == 0);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("A primary whose service is at work goes no faster, behind a checkpoint as well") {
  ReplicaSettings settings = every_batch();
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 1;
  Subject primary(0, settings);
  const Frame first = request(1, "a", false, 0, kAnotherSession);
  primary.feed(first);
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const AgreedInput input{GivenInputs().time, GivenInputs().seed};
  const Digest batch = pre_prepare(1, {first}, 0, 0, input).batch;
  for (const NodeId peer : {1U, 2U})
    primary.feed(prepare(peer, 1, batch));
  for (const NodeId peer : {1U, 2U})
    primary.feed(commit(peer, 1, batch));
  REQUIRE(primary.actions.executions.size() == 1);
  const std::uint64_t id = primary.actions.executions[0].id;
  make_stable(primary, 2, Digest{1}, Digest{2}, Digest{3});
  primary.feed(request(1, "b", false, 0, kAnotherSession + 1));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  primary.executed(id, "result");
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("A state that nobody hands over any more is not waited for: there is a newer one") {
  const auto digest = [](std::uint8_t byte) { return Digest{byte}; };
  Subject backup(1, every_batch());
  const auto last_asked = [&]() -> std::optional<std::uint64_t> {
    std::optional<std::uint64_t> sequence;
    for (const Outgoing& outgoing : backup.actions.sends) {
      if (peek_header(*outgoing.frame)->type != MessageType::fetch_parts) continue;
      sequence = decode_fetch_parts(*outgoing.frame, kReplicas)->sequence;
    }
    return sequence;
  };
  backup.tick(milliseconds(0));
  make_stable(backup, 1, digest(1), digest(2), digest(3));
  std::optional<std::uint64_t> asked = last_asked();
  for (int i = 0; i < 100 && !asked; ++i) {
    backup.tick(milliseconds(10));
    asked = last_asked();
  }
  CHECK(asked == 1);
  make_stable(backup, 2, digest(4), digest(5), digest(6));
  // They have some time to answer.
  CHECK_FALSE(last_asked());
  backup.tick(milliseconds(199));
  CHECK_FALSE(last_asked());
  backup.tick(milliseconds(1));
  CHECK(last_asked() == 2);
}

// Batch 1 never comes, and the state that takes its place takes its time.
TEST_CASE("What others order meanwhile does not fill the memory, whatever clients read") {
  const ReplicaSettings settings = with_little_memory();
  Subject backup(1, settings);
  backup.feed(request(1, "read", true, 0, kAnotherSession));
  REQUIRE(backup.actions.executions.size() == 1);  // and has no answer
  const std::uint64_t most = most_bytes_while_others_order(backup);
  CHECK(backup.replica.status().last_stable == 80);
  CHECK(most > settings.log_bytes_max);
  CHECK(most < 3 * settings.log_bytes_max);
}

TEST_CASE("What others order while the service is busy with one batch does not fill the memory") {
  const ReplicaSettings settings = with_little_memory();
  Subject backup(1, settings);
  backup.order(1, {request(1)});
  REQUIRE(backup.actions.executions.size() == 1);
  const std::uint64_t busy_with = backup.actions.executions[0].id;
  const std::uint64_t most = most_bytes_while_others_order(backup);
  CHECK(most > 2 * settings.log_bytes_max);
  CHECK(most < 3 * settings.log_bytes_max);
  backup.executed(busy_with, "result");
  CHECK(backup.replica.status().last_executed == 1);
}

}  // namespace prophecy::pbft::test

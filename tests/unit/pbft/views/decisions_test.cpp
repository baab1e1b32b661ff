// What a replica makes of others' decisions, and stands by in every view.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"
#include "pbft/wire/sealed.hpp"

namespace prophecy::pbft::test {

TEST_CASE("What f+1 others have committed is as good as committed") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const auto decision = [&](NodeId from) {
    return encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from));
  };
  backup.feed(decision(0));
  backup.feed(proposal.frame);
  CHECK(backup.actions.executions.empty());
  backup.feed(decision(0));
  CHECK(backup.actions.executions.empty());
  backup.feed(decision(3));
  CHECK(backup.actions.executions.size() == 1);
}

// A faulty primary that begins a view in two ways has some replicas adopt another batch there than
// what the rest has committed upon the other way.
TEST_CASE("A replica stands by what was decided, whatever a view begins with") {
  Subject backup(3);
  const Proposal decided = pre_prepare(1, {request(1)});
  const Proposal behind = pre_prepare(2, {request(2)});
  for (const NodeId peer : {0u, 1u})
    backup.feed(encode_vote(MessageType::decision, 0, 1, decided.batch, ring(peer)));
  backup.feed(decided.frame);
  REQUIRE(backup.actions.executions.size() == 1);
  const std::vector<BatchRecord> record{{2, 0, behind.batch}};
  backup.feed(new_view(1, 1,
                       {view_change(0, 1, record, record), view_change(1, 1, record, record),
                        view_change(2, 1, record, record)}));
  REQUIRE(backup.replica.status().view == 1);
  CHECK(backup.sent(MessageType::prepare) == 0);
  StatusMessage lacking;
  lacking.counter = 1;
  lacking.first_retained = 1;
  lacking.view = 1;
  backup.tick(milliseconds(100));
  backup.feed(encode_status(lacking, ring(2)));
  std::vector<Digest> said;
  for (const Outgoing& outgoing : backup.actions.sends) {
    const auto vote = decode_vote(*outgoing.frame, MessageType::decision, kReplicas);
    if (vote && vote->sequence == 1) said.push_back(vote->batch);
  }
  CHECK(said == std::vector{decided.batch});
}

// Behind a common outage this replica may have gone back far, and f+1 others may lack just that
// batch, which nobody else can name to them.
TEST_CASE("A replica tells of a decision that it has not come to yet") {
  Subject backup(3);
  const Proposal decided = pre_prepare(2, {request(2)});
  for (const NodeId peer : {0u, 1u})
    backup.feed(encode_vote(MessageType::decision, 0, 2, decided.batch, ring(peer)));
  backup.feed(decided.frame);
  REQUIRE(backup.replica.status().last_ordered == 0);
  StatusMessage lacking;
  lacking.counter = 1;
  lacking.first_retained = 2;
  lacking.last_ordered = 1;
  lacking.settled = 1;
  backup.tick(milliseconds(100));
  backup.feed(encode_status(lacking, ring(2)));
  const Frame said = sent_by(backup, MessageType::decision);
  REQUIRE(said != nullptr);
  const auto vote = decode_vote(*said, MessageType::decision, kReplicas);
  CHECK(vote->sequence == 2);
  CHECK(vote->batch == decided.batch);
  const Frame content = sent_by(backup, MessageType::pre_prepare);
  REQUIRE(content != nullptr);
  CHECK(decode_pre_prepare_head(*content)->sequence == 2);
}

// It may have been faulty then, and correct now, while another one is faulty.
TEST_CASE("What a peer said before it lost its memory decides nothing") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const auto decision = [&](NodeId from) {
    return encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from));
  };
  backup.feed(decision(1));
  backup.feed(encode_rejoin(backup.inputs.time / 1'000'000, ring(1)));
  backup.feed(decision(3));
  backup.feed(proposal.frame);
  CHECK(backup.actions.executions.empty());
  // Nor does anything count beyond what a correct one can have decided since.
  const std::uint64_t beyond = ReplicaSettings().window + 1;
  for (const NodeId peer : {0u, 1u, 3u})
    backup.feed(encode_vote(MessageType::decision, 0, beyond, proposal.batch, ring(peer)));
  CHECK(backup.dropped(DropReason::outside_water_marks) == 3);
}

TEST_CASE("Decisions of different times are not added up, and the newest of a peer counts") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const Proposal other = pre_prepare(1, {request(1, "another")});
  const auto decision = [&](NodeId from, const Proposal& of) {
    return encode_vote(MessageType::decision, 0, 1, of.batch, ring(from));
  };
  SECTION("of one peer") {
    backup.feed(decision(1, other));
    backup.feed(decision(1, proposal));
    backup.feed(decision(3, other));
    backup.feed(other.frame);
    CHECK(backup.actions.executions.empty());
    backup.feed(decision(3, proposal));
    backup.feed(proposal.frame);
    CHECK(backup.actions.executions.size() == 1);
  }
  SECTION("of times that are far apart") {
    backup.feed(decision(1, proposal));
    backup.tick(minutes(1));
    backup.feed(decision(3, proposal));
    backup.feed(proposal.frame);
    CHECK(backup.actions.executions.empty());
    backup.feed(decision(1, proposal));
    CHECK(backup.actions.executions.size() == 1);
  }
}

// Its primary may be correct: the others have decided in a later view.
TEST_CASE("A view's proposal contradicts nothing that was decided in a later one") {
  Subject backup(2);
  const Proposal decided = pre_prepare(1, {request(1)});
  const Proposal proposed = pre_prepare(1, {request(1, "another")});
  const bool is_prepared = GENERATE(true, false);
  if (is_prepared) backup.feed(proposed.frame);
  for (const NodeId peer : {1u, 3u})
    backup.feed(encode_vote(MessageType::decision, 0, 1, decided.batch, ring(peer)));
  if (!is_prepared) backup.feed(proposed.frame);
  backup.feed_as_it_is(encode_sealed(*decided.frame, ring(3)));
  REQUIRE(backup.sent(MessageType::commit) == kReplicas - 1);
  backup.feed(proposed.frame);
  CHECK(backup.dropped(DropReason::conflicting) == 0);
}

TEST_CASE("A restart casts no second vote where another batch was decided") {
  const std::uint64_t number = 1;
  Subject before(2);
  const Proposal decided = pre_prepare(number, {request(1)});
  const Proposal proposed = pre_prepare(number, {request(1, "another")});
  before.feed(proposed.frame);
  const bool is_committed = GENERATE(true, false);
  if (is_committed) {
    before.feed(prepare(1, number, proposed.batch));
    REQUIRE(before.sent(MessageType::commit) == kReplicas - 1);
  }
  for (const NodeId peer : {1u, 3u})
    before.feed(encode_vote(MessageType::decision, 0, number, decided.batch, ring(peer)));
  before.feed_as_it_is(encode_sealed(*decided.frame, ring(3)));
  REQUIRE(before.actions.executions.size() == 1);
  REQUIRE(before.sent(MessageType::commit) == (is_committed ? 0 : kReplicas - 1));
  Subject again(2, ReplicaSettings(), before.restarted(), before.parts);
  CHECK(again.sent(MessageType::commit) == (is_committed ? 0 : kReplicas - 1));
  again.feed(decided.frame);
  CHECK(again.sent(MessageType::prepare) == 0);
  again.feed(proposed.frame);
  CHECK(again.dropped(DropReason::conflicting) == 0);
}

// A late body is no reason to vote for less.
TEST_CASE("A replica that knows of a decision prepares its batch once the body has come") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {by_digest(1)});
  for (const NodeId peer : {1u, 3u})
    backup.feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(peer)));
  backup.feed_as_it_is(encode_sealed(*proposal.frame, ring(3)));
  CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  backup.feed(proposal.frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  std::size_t prepares = 0;
  for (int i = 0; i < 20 && prepares == 0; ++i) {
    deliver(backup);
    prepares = backup.sent(MessageType::prepare);
    if (prepares == 0) backup.tick(milliseconds(100));
  }
  CHECK(prepares == kReplicas - 1);
}

// A faulty replica may show a decision to some replicas, and withhold its own votes from others:
// those need the votes of all correct ones.
TEST_CASE("A replica that knows of a decision votes for it all the same") {
  Subject backup(2);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const auto decision = [&](NodeId from) {
    return encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(from));
  };
  SECTION("in the view that it knows it from") {
    backup.feed(proposal.frame);
    REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
    backup.feed(decision(0));
    CHECK(backup.sent(MessageType::commit) == 0);
    backup.feed(decision(3));
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
    // It says so once.
    backup.feed(decision(3));
    backup.feed(prepare(3, 1, proposal.batch));
    CHECK(backup.sent(MessageType::commit) == 0);
  }
  const std::vector<BatchRecord> record{{1, 0, proposal.batch}};
  const Frame next_view = new_view(
      1, 1,
      {view_change(0, 1, record, record), view_change(1, 1, record, record), view_change(3, 1)});
  SECTION("in the next one, whatever comes again first") {
    backup.feed(decision(0));
    backup.feed(decision(3));
    backup.feed(proposal.frame);
    REQUIRE(backup.actions.executions.size() == 1);
    backup.feed(next_view);
    REQUIRE(backup.replica.status().view == 1);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
    backup.feed(decision(0));
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
  SECTION("in full, where the proposal comes behind it") {
    const Frame content = proposal.frame;
    backup.feed(decision(1));
    backup.feed(decision(3));
    backup.feed_as_it_is(encode_sealed(*content, ring(3)));
    REQUIRE(backup.actions.executions.size() == 1);
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
    CHECK(backup.sent(MessageType::prepare) == 0);
    backup.feed(content);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
    backup.feed(content);
    CHECK(backup.sent(MessageType::prepare) == 0);
  }
  SECTION("in full, where the proposal brings the content") {
    backup.feed(decision(1));
    backup.feed(decision(3));
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
  SECTION("also after a restart") {
    backup.feed(proposal.frame);
    backup.feed(decision(0));
    backup.feed(decision(3));
    Subject again(2, {}, backup.restarted());
    CHECK(again.sent(MessageType::prepare) == kReplicas - 1);
    CHECK(again.sent(MessageType::commit) == kReplicas - 1);
  }
  SECTION("in the next one, though the batch comes last") {
    backup.feed(next_view);
    REQUIRE(backup.replica.status().view == 1);
    backup.feed(decision(0));
    backup.feed(decision(3));
    CHECK(backup.sent(MessageType::commit) == 0);
    backup.feed(proposal.frame);
    REQUIRE(backup.actions.executions.size() == 1);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
}

}  // namespace prophecy::pbft::test

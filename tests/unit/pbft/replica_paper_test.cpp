// Claims of "Practical Byzantine Fault Tolerance" (OSDI 1999) about replicas, one test each.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

TEST_CASE("4.2: a backup that accepts a pre-prepare multicasts a prepare") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  CHECK(backup.feed(proposal.frame));
  REQUIRE(backup.sent(MessageType::prepare) == kReplicas - 1);
  const auto vote = decode_vote(*backup.actions.sends[0].frame, MessageType::prepare, kReplicas);
  CHECK(vote->batch == proposal.batch);
  CHECK(vote->sequence == 1);
}

TEST_CASE("4.2: a pre-prepare is accepted only in its view") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}, 4).frame);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::wrong_view) == 1);
}

TEST_CASE("4.2: a pre-prepare is accepted only from the primary") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}, 0, 2).frame);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::unknown_sender) == 1);
}

TEST_CASE("4.2: a pre-prepare is accepted only if it is authentic") {
  Subject backup(1);
  Bytes forged = *pre_prepare(1, {request(1)}).frame;
  forged[forged.size() - 3 * kTagSize] ^= 1;  // the part of replica 1
  CHECK_FALSE(backup.feed(std::make_shared<const Bytes>(forged)));
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::bad_mac) == 1);
}

TEST_CASE("4.2: no second pre-prepare with another digest for the same view and number") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1, "a")}).frame);
  backup.feed(pre_prepare(1, {request(1, "b")}).frame);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::conflicting) == 1);
}

TEST_CASE("4.2: a sequence number has to lie between the water marks") {
  ReplicaSettings settings;
  settings.window = 256;
  Subject backup(1, settings);
  // Whether such a message is authentic is not looked at.
  CHECK_FALSE(backup.feed(pre_prepare(settings.window + 1, {request(1)}).frame));
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::outside_water_marks) == 1);
  CHECK(backup.feed(pre_prepare(settings.window, {request(1)}).frame));
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
}

TEST_CASE("4.2: prepared takes the pre-prepare and 2f matching prepares of different backups") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const Digest other = sha256(as_bytes("other"));
  SECTION("prepares alone are not enough") {
    backup.feed(prepare(2, 1, proposal.batch));
    backup.feed(prepare(3, 1, proposal.batch));
    CHECK(backup.sent(MessageType::commit) == 0);
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
  SECTION("its own and one more are enough") {
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::commit) == 0);
    backup.feed(prepare(2, 1, proposal.batch));
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
  SECTION("one for another digest, or of the primary, does not count") {
    backup.feed(proposal.frame);
    backup.feed(prepare(2, 1, other));
    backup.feed(prepare(2, 1, proposal.batch));  // a second word of the same replica
    backup.feed(prepare(0, 1, proposal.batch));
    CHECK(backup.sent(MessageType::commit) == 0);
    CHECK(backup.dropped(DropReason::conflicting) == 1);
    CHECK(backup.dropped(DropReason::unknown_sender) == 1);
    backup.feed(prepare(3, 1, proposal.batch));
    CHECK(backup.sent(MessageType::commit) == kReplicas - 1);
  }
}

TEST_CASE("4.2: committed-local takes prepared and 2f+1 matching commits") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1, "write")});
  SECTION("in the usual order") {
    backup.feed(proposal.frame);
    backup.feed(prepare(2, 1, proposal.batch));
    backup.feed(commit(0, 1, proposal.batch));
    CHECK(backup.actions.executions.empty());
    backup.feed(commit(0, 1, proposal.batch));  // again: counts once
    CHECK(backup.actions.executions.empty());
    backup.feed(commit(2, 1, proposal.batch));
  }
  SECTION("commits before it is prepared are kept") {
    backup.feed(commit(0, 1, proposal.batch));
    backup.feed(commit(2, 1, proposal.batch));
    backup.feed(commit(3, 1, proposal.batch));
    backup.feed(proposal.frame);
    CHECK(backup.actions.executions.empty());
    backup.feed(prepare(3, 1, proposal.batch));
  }
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(as_text(backup.actions.executions[0].operation) == "write");
  CHECK(backup.actions.executions[0].sigma == 1 << 16);
}

TEST_CASE("4.2: requests are executed in the order of their sequence numbers") {
  Subject backup(1);
  backup.order(2, {request(2, "second")});
  CHECK(backup.actions.executions.empty());
  backup.order(1, {request(1, "first")});
  REQUIRE(backup.actions.executions.size() == 2);
  CHECK(as_text(backup.actions.executions[0].operation) == "first");
  CHECK(as_text(backup.actions.executions[1].operation) == "second");
}

TEST_CASE("4.1: a request that was executed is answered again, not executed again") {
  Subject backup(1);
  backup.order(1, {request(5)});
  REQUIRE(backup.actions.executions.size() == 1);
  backup.executed(backup.actions.executions[0].id, "result");
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(backup.feed(request(5)));
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(as_text(decode_reply(*backup.actions.sends[0].frame)->result) == "result");
  CHECK(backup.actions.executions.empty());
  // Nor when the primary orders it again.
  backup.order(2, {request(5)});
  CHECK(backup.actions.executions.empty());
  CHECK(backup.replica.counters().requests_repeated == 1);
  CHECK(backup.replica.status().last_executed == 2);
}

TEST_CASE("4.1: timestamps of a session rise; an older request is not executed") {
  Subject backup(1);
  backup.order(1, {request(5), request(4), request(6, "other session", false, 0, 1)});
  CHECK(backup.actions.executions.size() == 2);
  backup.feed(request(4));
  CHECK(backup.dropped(DropReason::stale_timestamp) == 1);
  REQUIRE(backup.actions.sends.size() == 1);
  const auto answer = decode_reply(*backup.actions.sends[0].frame);
  REQUIRE(answer);
  CHECK(answer->status == ReplyStatus::stale);
  CHECK(answer->timestamp == 4);
  CHECK(answer->sigma == 5);
  CHECK(ring(kClient).verify(1, sha256(answer->content), answer->tag));
  // Whoever repeats a recorded one gets no more of them.
  backup.feed(request(4));
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::stale_timestamp) == 2);
}

TEST_CASE("4.1: a backup relays a request to the primary, which proposes it once") {
  Subject backup(1);
  CHECK(backup.feed(request(1)));
  REQUIRE(backup.sent(MessageType::forward) == 1);
  CHECK(backup.actions.sends[0].to == 0);
  const Frame forward = backup.actions.sends[0].frame;

  Subject primary(0);
  CHECK_FALSE(primary.feed(forward));  // teaches no route to the client
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  primary.feed(forward);
  CHECK(primary.actions.sends.empty());
}

TEST_CASE("4.1: a request that a client did not make is not accepted from the primary") {
  Subject backup(1);
  Bytes forged = *request(1, "transfer 10");
  forged[kRequestFixedSize + 9] = '9';
  backup.feed(pre_prepare(1, {std::make_shared<const Bytes>(forged)}).frame);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::bad_mac) == 1);
}

TEST_CASE("4.3: a checkpoint is stable with 2f+1 equal claims; then the log is cut") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 2;
  settings.window = 4;
  settings.retained_batches = 0;
  Subject backup(1, settings);
  Frame own;
  for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
    backup.order(sequence, {request(sequence)});
    backup.executed(backup.actions.executions.at(0).id, "r");
  }
  REQUIRE(backup.sent(MessageType::checkpoint) == kReplicas - 1);
  for (const Outgoing& outgoing : backup.actions.sends) {
    if (peek_header(*outgoing.frame)->type == MessageType::checkpoint) own = outgoing.frame;
  }
  const auto claim = *decode_checkpoint(*own);
  CHECK(claim.sequence == 2);
  CHECK(backup.replica.status().log_batches == 2);
  backup.feed(encode_checkpoint(2, claim.order, claim.replies, claim.service, ring(0)));
  backup.feed(encode_checkpoint(2, claim.order, claim.replies, claim.service, ring(0)));
  CHECK(backup.replica.status().last_stable == 0);
  backup.feed(encode_checkpoint(2, Digest{}, claim.replies, claim.service, ring(3)));
  CHECK(backup.replica.status().last_stable == 0);
  Bytes in_the_name_of_another =
      *encode_checkpoint(2, claim.order, claim.replies, claim.service, ring(3));
  in_the_name_of_another[2] = 2;  // the sender
  CHECK_FALSE(backup.feed(std::make_shared<const Bytes>(in_the_name_of_another)));
  CHECK(backup.dropped(DropReason::bad_signature) == 1);
  backup.feed(encode_checkpoint(2, claim.order, claim.replies, claim.service, ring(2)));
  CHECK(backup.replica.status().last_stable == 2);
  CHECK(backup.replica.status().log_batches == 0);
  // The high water mark has moved on with it.
  backup.feed(pre_prepare(6, {request(9)}).frame);
  CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  backup.feed(pre_prepare(7, {request(10)}).frame);
  CHECK(backup.dropped(DropReason::outside_water_marks) == 1);
}

TEST_CASE("5.1: the designated replica sends the result, the others its digest") {
  const std::string large(1000, 'x');
  for (const NodeId replier : {1u, 2u}) {
    Subject backup(1);
    backup.order(1, {request(1, "op", false, replier)});
    backup.executed(backup.actions.executions.at(0).id, large);
    REQUIRE(backup.sent(MessageType::reply) == 1);
    const auto answer = decode_reply(*backup.actions.sends[0].frame);
    CHECK(answer->full == (replier == 1));
    CHECK(answer->result_digest == sha256(as_bytes(large)));
    // A client that asks again needs the result from everybody.
    backup.feed(request(1, "op", false, replier));
    CHECK(decode_reply(*backup.actions.sends.at(0).frame)->full);
  }
}

TEST_CASE("5.1: a read-only request is executed at once, outside the order") {
  Subject backup(1);
  CHECK(backup.feed(request(1, "read", true)));
  REQUIRE(backup.actions.executions.size() == 1);
  CHECK(backup.actions.executions[0].read_only);
  CHECK(backup.actions.executions[0].sigma == 0);
  backup.executed(backup.actions.executions[0].id, "value");
  REQUIRE(backup.sent(MessageType::reply) == 1);
  CHECK(decode_reply(*backup.actions.sends[0].frame)->sigma == 0);
  CHECK(backup.replica.status().last_ordered == 0);
  CHECK(backup.replica.counters().reads_executed == 1);
}

TEST_CASE("5.1: the primary batches what arrives while its window is full") {
  ReplicaSettings settings;
  settings.partial_batches_in_flight_max = 1;
  Subject primary(0, settings);
  primary.feed(request(1, "a", false, 0, 0));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const auto first = decode_pre_prepare(*primary.actions.sends[0].frame, kReplicas);
  Sha256 chain;
  chain.update(sha256(first->requests[0].content));
  append_to_batch(chain, first->input);
  const Digest batch = chain.finish();
  for (std::uint32_t session = 1; session <= 3; ++session) {
    primary.feed(request(1, "b", false, 0, session));
    CHECK(primary.actions.sends.empty());
  }
  CHECK(primary.replica.status().queued_requests == 3);
  for (const NodeId backup : {1u, 2u})
    primary.feed(prepare(backup, 1, batch));
  CHECK(primary.sent(MessageType::commit) == kReplicas - 1);
  for (const NodeId backup : {1u, 2u})
    primary.feed(commit(backup, 1, batch));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  for (const Outgoing& outgoing : primary.actions.sends) {
    if (const auto second = decode_pre_prepare(*outgoing.frame, kReplicas)) {
      CHECK(second->requests.size() == 3);
      CHECK(second->sequence == 2);
    }
  }
}

TEST_CASE("Full batches do not wait for those before them, up to a bound") {
  ReplicaSettings settings;
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 3;
  settings.batch_requests_max = 2;
  Subject primary(0, settings);
  std::vector<std::size_t> proposed;
  for (std::uint32_t session = 0; session < 8; ++session) {
    primary.feed(request(1, "a", false, 0, session));
    proposed.push_back(primary.sent(MessageType::pre_prepare) / (kReplicas - 1));
  }
  // The first alone, as nothing is on its way; then two and two.
  CHECK(proposed == std::vector<std::size_t>{1, 0, 1, 0, 1, 0, 0, 0});
  CHECK(primary.replica.status().last_proposed == 3);
  CHECK(primary.replica.status().queued_requests == 3);
}

TEST_CASE("What arrives together is proposed together") {
  Subject primary(0);
  for (std::uint32_t session = 0; session < 3; ++session) {
    CHECK(primary.replica.take_frame(*request(1, "a", false, 0, session), primary.now,
                                     primary.actions));
    CHECK(primary.actions.sends.empty());
  }
  primary.replica.propose_waiting(primary.now, primary.actions);
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  CHECK(decode_pre_prepare(*primary.actions.sends[0].frame, kReplicas)->requests.size() == 3);
  // The time within which it has to be agreed on begins with it.
  CHECK(primary.replica.next_timer() <= primary.now + ReplicaSettings{}.view_change_timeout);
  primary.replica.propose_waiting(primary.now, primary.actions);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

}  // namespace
}  // namespace prophecy::pbft::test

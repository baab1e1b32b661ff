#include <algorithm>
#include <array>

#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"

namespace prophecy::pbft::test {
namespace {

Frame status_of_batches(NodeId from, std::uint64_t last_ordered, std::uint64_t first_retained = 1,
                        std::vector<std::uint8_t> slots = {}, std::uint64_t last_stable = 0) {
  static std::uint64_t counter = 0;
  StatusMessage message;
  message.counter = ++counter;
  message.first_retained = first_retained;
  message.last_ordered = last_ordered;
  message.settled = last_ordered;
  message.last_stable = last_stable;
  message.slots = slots;
  return encode_status(message, ring(from));
}

TEST_CASE("Idle, a replica tells what it has only at its slow heartbeat") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
  CHECK(backup.replica.next_timer() == backup.now + seconds(1));
  backup.tick(milliseconds(999));
  CHECK(backup.actions.sends.empty());
  backup.tick(milliseconds(1));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
}

TEST_CASE("A batch that gets no further brings the next status near, and says what is there") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(pre_prepare(1, {request(1)}).frame);
  CHECK(backup.replica.next_timer() == backup.now + milliseconds(50));
  backup.tick(milliseconds(50));
  REQUIRE(backup.sent(MessageType::status) == kReplicas - 1);
  const auto said = decode_status(*backup.actions.sends[0].frame, kReplicas);
  REQUIRE(said->slots.size() == 1);
  CHECK(said->slots[0] == kHasPrePrepare);
}

TEST_CASE("A batch that is refused here brings the next status near: others may agree on it") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(pre_prepare(1, {with_wrong_macs(request(1), {1})}).frame);
  REQUIRE(backup.sent(MessageType::prepare) == 0);
  CHECK(backup.replica.next_timer() == backup.now + milliseconds(50));
  backup.tick(milliseconds(50));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
}

TEST_CASE("Votes of f+1 others on a batch that has not come bring the next status near") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  const Digest batch = pre_prepare(1, {request(1)}).batch;
  backup.feed(encode_vote(MessageType::commit, 0, 1, batch, ring(2)));
  // One may lie.
  CHECK(backup.replica.next_timer() == backup.now + seconds(1));
  backup.feed(encode_vote(MessageType::commit, 0, 1, batch, ring(3)));
  CHECK(backup.replica.next_timer() == backup.now + milliseconds(50));
  backup.tick(milliseconds(50));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
}

TEST_CASE("A peer that gets no further is served ever less often, and others are not") {
  Subject backup(1);
  constexpr std::uint64_t kBatches = 6;
  for (std::uint64_t sequence = 1; sequence <= kBatches; ++sequence)
    backup.order(sequence, {request(sequence, std::string(500'000, 'x'))});
  const auto served = [&](NodeId peer, const auto& settled_at) {
    std::size_t bytes = 0;
    for (int i = 0; i < 80; ++i) {
      backup.now += milliseconds(25);
      backup.feed(status_of_batches(peer, settled_at(i)));
      for (const Outgoing& outgoing : backup.actions.sends)
        bytes += outgoing.frame->size();
    }
    return bytes;
  };
  const std::size_t stuck = served(3, [](int) { return 0; });
  CHECK(stuck > 500'000);
  CHECK(stuck < std::size_t{8} << 20);  // in two seconds
  // What is believed to have arrived once is not forgiven twice.
  const std::size_t swinging = served(2, [](int i) { return i % 2 == 0 ? 0 : kBatches - 1; });
  CHECK(swinging < std::size_t{8} << 20);
  const std::size_t moving = served(0, [](int i) { return std::min<std::uint64_t>(i, 5); });
  CHECK(moving > 500'000);
}

TEST_CASE("A peer gets exactly what it lacks") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.feed(proposal.frame);
  backup.feed(prepare(2, 1, proposal.batch));  // prepared: it has sent a commit
  backup.now += seconds(1);
  SECTION("nothing but the pre-prepare") {
    backup.feed(status_of_batches(3, 0, 1, {kHasPrePrepare}));
    CHECK(backup.sent(MessageType::prepare) == 1);
    CHECK(backup.sent(MessageType::commit) == 1);
    CHECK(backup.sent(MessageType::pre_prepare) == 0);
  }
  SECTION("only commits are missing") {
    backup.feed(status_of_batches(3, 0, 1, {kHasPrePrepare | kHasPrepared}));
    CHECK(backup.sent(MessageType::prepare) == 0);
    CHECK(backup.sent(MessageType::commit) == 1);
  }
  SECTION("everything is there") {
    backup.feed(status_of_batches(3, 0, 1, {kHasPrePrepare | kHasPrepared | kHasCommitted}));
    CHECK(backup.actions.sends.empty());
    backup.now += seconds(1);
    backup.feed(status_of_batches(3, 1));
    CHECK(backup.actions.sends.empty());
  }
  SECTION("the proposal, and it is small") {
    backup.feed(status_of_batches(3, 0));
    REQUIRE(backup.sent(MessageType::pre_prepare) == 1);
    // It is the primary's, with the primary's MACs.
    CHECK(
        std::any_of(backup.actions.sends.begin(), backup.actions.sends.end(),
                    [&](const Outgoing& outgoing) { return *outgoing.frame == *proposal.frame; }));
  }
}

TEST_CASE("Large proposals that a peer lacks are sent in turns, by those that can help") {
  Subject one(1);
  Subject two(2);
  const Proposal proposal = pre_prepare(1, {request(1, std::string(10'000, 'x'))});
  one.feed(proposal.frame);
  two.feed(proposal.frame);
  for (std::size_t i = 0; i < 2 * kReplicas; ++i) {
    one.now += seconds(1);
    two.now += seconds(1);
    const Frame lacking = status_of_batches(3, 0);
    one.feed(lacking);
    two.feed(lacking);
    CHECK(one.sent(MessageType::pre_prepare) + two.sent(MessageType::pre_prepare) == 1);
  }
}

TEST_CASE("A replica that serves each second Status has its turn all the same") {
  const bool is_odd = GENERATE(false, true);
  Subject one(1);
  one.feed(pre_prepare(1, {request(1, std::string(300'000, 'x'))}).frame);
  const auto sends = [&](const Frame& lacking) {
    one.now += seconds(20);
    one.feed(lacking);
    return one.sent(MessageType::pre_prepare);
  };
  // So much that it serves the peer less often from then on.
  REQUIRE(sends(status_of_batches(3, 0)) + sends(status_of_batches(3, 0)) == 1);
  std::size_t sent = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    const Frame lacking = status_of_batches(3, 0);
    if ((decode_status(*lacking, kReplicas)->counter % 2 == 1) == is_odd) sent += sends(lacking);
  }
  CHECK(sent > 8);
  CHECK(sent < 24);
}

TEST_CASE("What was ordered before does not put off the Status about what is missing now") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  // A tick is due soon, for the sake of what is ordered meanwhile.
  backup.feed(pre_prepare(1, {request(1)}).frame);
  backup.tick(milliseconds(30));
  backup.order(1, {request(1)});
  REQUIRE(backup.replica.status().last_ordered == 1);
  backup.tick(milliseconds(10));
  const Digest batch = pre_prepare(2, {request(2)}).batch;
  for (const NodeId from : {2U, 3U})
    backup.feed(encode_vote(MessageType::commit, 0, 2, batch, ring(from)));
  backup.tick(milliseconds(10));
  CHECK(backup.sent(MessageType::status) == 0);
  backup.tick(milliseconds(40));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
}

TEST_CASE("Alone in a later view, a replica asks in each interval, whatever it has got") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(pre_prepare(1, {request(1)}).frame);
  backup.tick(ReplicaSettings().view_change_timeout);
  REQUIRE(backup.replica.status().state == ReplicaState::changing_view);
  for (std::uint64_t sequence = 1; sequence <= 5; ++sequence) {
    const Proposal proposal = pre_prepare(sequence, {request(sequence)});
    for (const NodeId from : {2U, 3U}) {
      backup.feed(encode_vote(MessageType::decision, 0, sequence, proposal.batch, ring(from)));
    }
    backup.feed(proposal.frame);
    REQUIRE(backup.replica.status().last_ordered == sequence);
    backup.tick(milliseconds(50));
    CHECK(backup.sent(MessageType::status) == kReplicas - 1);
  }
}

// Replica 3 is alone in a later view, and replicas 1 and 2 have ordered what a faulty primary has
// not shown to it.
struct LeftOutAlone {
  // One of the others has got some more of its Statuses before.
  explicit LeftOutAlone(std::size_t operation_bytes, NodeId first = 1, int before = 0) {
    alone.tick(milliseconds(0));
    for (int i = 0; i < before; ++i)
      ask({first}, ReplicaSettings().heartbeat_interval);
    const Proposal proposal = pre_prepare(1, {request(1, std::string(operation_bytes, 'x'))});
    for (const NodeId node : {1U, 2U}) {
      others[node - 1].feed(proposal.frame);
      others[node - 1].feed(prepare(3 - node, 1, proposal.batch));
      for (const NodeId from : {0U, 3 - node})
        others[node - 1].feed(commit(from, 1, proposal.batch));
      REQUIRE(others[node - 1].replica.status().last_ordered == 1);
    }
    alone.feed(retransmitted(request(2)));
    while (alone.replica.status().state == ReplicaState::normal)
      alone.tick(milliseconds(50));
  }
  // Its next Status, and what those of the others send that get it.
  void ask(std::initializer_list<NodeId> who_get_it, Duration after = milliseconds(50)) {
    alone.tick(after);
    const auto sent = std::find_if(
        alone.actions.sends.begin(), alone.actions.sends.end(), [](const Outgoing& outgoing) {
          return peek_header(*outgoing.frame)->type == MessageType::status;
        });
    REQUIRE(sent != alone.actions.sends.end());
    const Frame status = sent->frame;
    for (const NodeId node : who_get_it) {
      Subject& other = others[node - 1];
      other.now = alone.now;
      other.feed(status);
      for (const Outgoing& outgoing : other.actions.sends) {
        if (outgoing.to != alone.node) continue;
        const Frame& frame = outgoing.frame;
        alone.feed_as_it_is(needs_seal(*frame, node) ? encode_sealed(*frame, ring(node)) : frame);
      }
    }
  }
  [[nodiscard]] bool is_there() const { return alone.replica.status().last_ordered == 1; }

  std::array<Subject, 2> others{Subject(1), Subject(2)};
  Subject alone{3};
};

TEST_CASE("A replica alone in a later view has small decided batches with its first Status") {
  LeftOutAlone group(10);
  group.ask({1, 2});
  CHECK(group.is_there());
}

TEST_CASE(
    "It has large ones with the second at the latest, though others have got more of its own") {
  LeftOutAlone group(10'000, GENERATE(1U, 2U), GENERATE(0, 1, 2));
  group.ask({1, 2});
  if (!group.is_there()) group.ask({1, 2});
  CHECK(group.is_there());
}

TEST_CASE("A decision goes before its batch's content") {
  Subject backup(1);
  backup.order(1, {request(1)});
  backup.feed(status_of_batches(2, 0));
  std::vector<MessageType> types;
  for (const Outgoing& outgoing : backup.actions.sends)
    types.push_back(peek_header(*outgoing.frame)->type);
  REQUIRE(types.size() >= 2);
  CHECK(types[0] == MessageType::decision);
  CHECK(types[1] == MessageType::pre_prepare);
}

TEST_CASE("A peer that asks too often is not served each time") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  backup.feed(status_of_batches(3, 0));
  CHECK_FALSE(backup.actions.sends.empty());
  backup.feed(status_of_batches(3, 0));
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::rate_limited) == 1);
}

TEST_CASE("What was ordered has settled in a later view once it is agreed on there") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.order(1, {request(1)});
  const auto told = [&] {
    Frame status;
    for (int ticks = 0; status == nullptr; ++ticks) {
      REQUIRE(ticks < 100);
      backup.tick(milliseconds(50));
      status = sent_by(backup, MessageType::status);
    }
    return decode_status(*status, kReplicas)->settled;
  };
  CHECK(told() == 1);
  const std::vector<BatchRecord> known{{1, 0, proposal.batch}};
  std::vector<Frame> view_changes;
  for (const NodeId peer : {0U, 2U, 3U})
    view_changes.push_back(view_change(peer, 2, known, known));
  backup.feed(new_view(2, 2, view_changes));
  REQUIRE(backup.replica.status().view == 2);
  REQUIRE(backup.replica.state() == ReplicaState::normal);
  REQUIRE(backup.replica.status().last_ordered == 1);
  CHECK(told() == 0);
  backup.feed(prepare(3, 1, proposal.batch, 2));
  backup.feed(commit(2, 1, proposal.batch, 2));
  backup.feed(commit(3, 1, proposal.batch, 2));
  CHECK(told() == 1);
}

TEST_CASE("A Status that is late, or repeated by somebody, is not served in place of a newer one") {
  Subject backup(1);
  backup.feed(pre_prepare(1, {request(1)}).frame);
  const Frame late = status_of_batches(3, 0);
  backup.feed(status_of_batches(3, 0));
  backup.now += seconds(1);
  backup.feed(late);
  CHECK(backup.actions.sends.empty());
  CHECK(backup.dropped(DropReason::duplicate) == 1);
}

TEST_CASE("A replica that lags behind a peer asks soon") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(status_of_batches(2, 3));
  CHECK(backup.replica.next_timer() == backup.now + milliseconds(50));
  backup.tick(milliseconds(50));
  CHECK(backup.sent(MessageType::status) == kReplicas - 1);
}

TEST_CASE("Another history under a stable checkpoint stops a replica") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  Subject backup(1, settings);
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "r");
  const Digest other = sha256(as_bytes("another history"));
  for (const NodeId peer : {0u, 2u})
    backup.feed(encode_checkpoint(1, other, other, other, ring(peer)));
  CHECK(backup.replica.status().state == ReplicaState::normal);
  backup.feed(encode_checkpoint(1, other, other, other, ring(3)));
  CHECK(backup.replica.status().state == ReplicaState::diverged);
}

TEST_CASE("Other results of the same history are told, and stop nobody") {
  ReplicaSettings settings;
  settings.checkpoint_interval = 1;
  Subject backup(1, settings);
  backup.order(1, {request(1)});
  backup.executed(backup.actions.executions.at(0).id, "mine");
  Frame own;
  for (const Outgoing& outgoing : backup.actions.sends) {
    if (peek_header(*outgoing.frame)->type == MessageType::checkpoint) own = outgoing.frame;
  }
  REQUIRE(own != nullptr);
  const auto claim = *decode_checkpoint(*own);
  const Digest other = sha256(as_bytes("theirs"));
  for (const NodeId peer : {0u, 2u}) {
    backup.feed(encode_checkpoint(1, claim.order, other, claim.service, ring(peer)));
  }
  CHECK(backup.replica.status().last_stable == 1);
  CHECK(backup.replica.counters().reply_divergences == 1);
  CHECK(backup.replica.status().state == ReplicaState::normal);
}

TEST_CASE("A request whose part for a replica is damaged is accepted on f+1 replicas' word") {
  Bytes damaged = *request(1);
  damaged[damaged.size() - 3 * kTagSize] ^= 1;  // the part of replica 1
  const Proposal proposal = pre_prepare(1, {std::make_shared<const Bytes>(damaged)});
  Subject backup(1);
  backup.feed(proposal.frame);
  CHECK(backup.sent(MessageType::prepare) == 0);
  SECTION("another backup has prepared it, so one correct replica saw a valid MAC") {
    backup.feed(prepare(2, 1, proposal.batch));
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  }
  SECTION("the client has sent the same request itself") {
    backup.feed(request(1));
    backup.feed(proposal.frame);
    CHECK(backup.sent(MessageType::prepare) == kReplicas - 1);
  }
}

}  // namespace
}  // namespace prophecy::pbft::test

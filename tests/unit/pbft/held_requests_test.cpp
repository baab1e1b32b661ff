// Which of a session's requests by digest a primary keeps, when its client signs several and gives
// them to some replicas alone: the one that backups come to hold against the primary.
#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"
#include "pbft/whole_group.hpp"

namespace prophecy::pbft::test {
namespace {

const BodyTree& other_tree() {
  static const BodyTree tree(bytes_of_size(333), 100);
  return tree;
}

// What the primary has proposed at 1.
void order_first(Subject& primary, const Frame& request) {
  const AgreedInput input{GivenInputs().time, GivenInputs().seed};
  const Digest batch = pre_prepare(1, {request}, 0, 0, input).batch;
  for (const NodeId peer : {1U, 2U})
    primary.feed(prepare(peer, 1, batch));
  for (const NodeId peer : {1U, 2U})
    primary.feed(commit(peer, 1, batch));
  REQUIRE(primary.replica.status().last_ordered == 1);
}

}  // namespace

TEST_CASE("What a primary has asked others to hold keeps its place, though one holds a newer one") {
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(2, other_tree().name()));
  Subject primary(0);
  primary.feed(older);
  deliver(primary);
  primary.tick(kPatience / 4);
  REQUIRE(primary.sent(MessageType::forward) == kReplicas - 1);
  primary.feed(forwarded(2, newer));
  deliver(primary, other_tree());
  primary.feed(forwarded(1, older));
  primary.feed(forwarded(3, older));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  const Frame frame = sent_by(primary, MessageType::pre_prepare);
  const auto proposed = decode_pre_prepare(*frame, kReplicas);
  REQUIRE(proposed->requests.size() == 1);
  CHECK(proposed->requests[0].timestamp == 1);
  // The other one's turn comes once it is ordered.
  primary.feed(forwarded(1, newer));
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  order_first(primary, older);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("What more backups hold than a newer one gets its place, though each says so by itself") {
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(2, other_tree().name()));
  Subject primary(0);
  primary.feed(newer);
  deliver(primary, other_tree());
  primary.feed(forwarded(2, newer));
  primary.feed(forwarded(1, older));
  CHECK(primary.dropped(DropReason::stale_timestamp) == 1);
  primary.feed(forwarded(3, older));
  CHECK(primary.dropped(DropReason::stale_timestamp) == 1);
  deliver(primary);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

// No backup times the primary for an unsigned request. A newer request behind it would wait for as
// long as the primary likes.
TEST_CASE("What a primary forwards without a signature keeps no place before a newer request") {
  const Frame older = by_digest(1);
  const Frame newer = by_digest(2, other_tree().name());
  Subject backup(1);
  backup.feed(older);
  deliver(backup);
  for (const NodeId from : {0U, 2U, 3U})
    backup.feed(forwarded(from, older));
  // The client is started again meanwhile, so it has forgotten the older one.
  backup.feed(newer);
  deliver(backup, other_tree());
  CHECK(backup.sent(MessageType::forward) == kReplicas - 1);
  backup.feed(retransmitted(newer));
  CHECK(backup.sent(MessageType::forward) == kReplicas - 1);
  for (const NodeId from : {2U, 3U})
    backup.feed(forwarded(from, retransmitted(newer)));
  backup.tick(seconds(2));
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

// All replicas are correct. A cut leaves the primary alone in the next view, and has a client
// forget a request that some hold.
TEST_CASE("What a primary that has left its view holds keeps no place before a newer request") {
  const bool is_signed = GENERATE(false, true);
  CAPTURE(is_signed);
  WholeGroup group;
  group.on_client([&](NodeId from, const Outgoing& outgoing) {
    const auto asked = decode_fetch_parts(*outgoing.frame);
    if (!asked) return;
    for (const Digest& digest : asked->parts) {
      for (const BodyTree* body : {&tree(), &other_tree()}) {
        if (const auto part = body->part(digest))
          group.send(from, encode_part_message(*part, ring(kClient)));
      }
    }
  });
  NodeId first_cut = 1;  // it, and all behind it
  group.lose([&](NodeId to, ByteView frame) {
    return to >= first_cut ||
           (peek_header(frame)->sender < kReplicas && peek_header(frame)->sender >= first_cut);
  });
  group.send(0, request(1, "op", false, 0, kAnotherSession));
  REQUIRE(group.run_until(TimePoint{} + seconds(1), [&] { return group.view_changes() == 1; }));
  REQUIRE(group.replica(0).status().state == ReplicaState::changing_view);
  first_cut = 2;
  for (const NodeId to : {0U, 1U})
    group.send(to, is_signed ? retransmitted(by_digest(1)) : by_digest(1));
  group.run_until(group.now() + milliseconds(20));
  REQUIRE(group.replica(1).counters().bodies_fetched == 1);
  first_cut = kReplicas;
  for (int i = 0; i < 50 && !group.all_executed(2); ++i) {
    for (NodeId to = 0; to < kReplicas; ++to)
      group.send(to, retransmitted(by_digest(2, other_tree().name())));
    group.run_until(group.now() + milliseconds(200));
  }
  CHECK(group.all_executed(2));
}

// With one that is faulty, the others are too few to propose it, or to hold it against a primary.
TEST_CASE("A replica that has left the view tells of the newer request behind an older one") {
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(2, other_tree().name()));
  Subject backup(1);
  backup.feed(older);
  deliver(backup);
  for (const NodeId from : {0U, 2U, 3U})
    backup.feed(forwarded(from, older));
  backup.tick(seconds(2));
  REQUIRE(backup.replica.status().state == ReplicaState::changing_view);
  // The others have lost it, and its client has forgotten it.
  std::size_t told = 0;
  const auto count = [&] {
    for (const Outgoing& outgoing : backup.actions.sends) {
      const auto forward = decode_forward(*outgoing.frame);
      const auto request = forward ? decode_request(forward->request, kReplicas) : std::nullopt;
      if (request && request->timestamp == 2) ++told;
    }
  };
  backup.feed(newer);
  deliver(backup, other_tree());
  count();
  for (const NodeId from : {0U, 3U}) {
    backup.feed(forwarded(from, newer));
    count();
  }
  CHECK(told == kReplicas - 1);
}

// The primary is silent, and the client was started again. What it has given up waits at those who
// have it for others, who have never heard of it.
TEST_CASE("A backup tells of the newer request behind an older one that too few hold") {
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(2, other_tree().name()));
  Subject backup(1);
  backup.feed(older);
  deliver(backup);
  backup.feed(forwarded(3, older));
  backup.tick(seconds(2));
  REQUIRE(backup.replica.status().state == ReplicaState::normal);
  backup.feed(newer);
  deliver(backup, other_tree());
  REQUIRE(backup.sent(MessageType::forward) == kReplicas - 1);
  const Frame told = sent_by(backup, MessageType::forward);
  CHECK(decode_request(decode_forward(*told)->request, kReplicas)->timestamp == 2);
  for (const NodeId from : {2U, 3U})
    backup.feed(forwarded(from, newer));
  backup.tick(seconds(2));
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A primary that asks for another view has no more room for bodies that way") {
  Subject backup(1);
  backup.feed(view_change(0, 1));
  const std::uint64_t size = ReplicaSettings().queue_bytes_max / 2;
  std::uint32_t number = 0;
  for (; number < 40; ++number) {
    const BodyName name{size, sha256(as_bytes(std::to_string(number)))};
    backup.tick(milliseconds(50));  // what the primary has checked of signatures is bounded
    backup.feed(forwarded(0, retransmitted(by_digest(1, name, number))));
  }
  CHECK(backup.replica.status().bodies_missing <= 4);
}

TEST_CASE("A replica counts for the two requests of a session that it has forwarded last") {
  const BodyTree third(bytes_of_size(222), 100);
  const Frame older = retransmitted(by_digest(1));
  const Frame newer = retransmitted(by_digest(3, other_tree().name()));
  Subject primary(0);
  primary.feed(newer);
  deliver(primary, other_tree());
  primary.feed(forwarded(2, newer));
  // Whoever names many holds none of them.
  primary.feed(forwarded(1, older));
  for (std::uint64_t timestamp : {2U, 3U})
    primary.feed(forwarded(1, retransmitted(by_digest(timestamp, third.name()))));
  primary.feed(forwarded(3, older));
  deliver(primary);
  CHECK(primary.replica.counters().batches_proposed == 0);
}

}  // namespace prophecy::pbft::test

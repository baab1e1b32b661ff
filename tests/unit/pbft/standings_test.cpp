// What a replica knows of its peers, and of itself beside them.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

Frame status(NodeId from, std::uint64_t last_ordered, std::uint64_t view = 0,
             std::uint64_t last_stable = 0) {
  static std::uint64_t counter = 0;
  StatusMessage message;
  message.counter = ++counter;
  message.view = view;
  message.first_retained = 1;
  message.last_ordered = last_ordered;
  message.settled = last_ordered;
  message.last_stable = last_stable;
  return encode_status(message, ring(from));
}

Frame spoilt(const Frame& frame) {
  Bytes bytes = *frame;
  for (std::size_t i = bytes.size() - kReplicas * kTagSize; i < bytes.size(); ++i)
    bytes[i] ^= 1;
  return std::make_shared<const Bytes>(std::move(bytes));
}

PeerStanding peer(const Subject& subject, NodeId id) {
  for (const PeerStanding& standing : subject.replica.status().peers) {
    if (standing.replica == id) return standing;
  }
  FAIL("no standing of replica " << id);
  return {};
}

std::uint64_t count(const DropCounters& dropped, DropReason reason) {
  return dropped[static_cast<std::size_t>(reason)];
}

TEST_CASE("All others have a standing, and nothing is known at first") {
  const Subject backup(1);
  const auto peers = backup.replica.status().peers;
  REQUIRE(peers.size() == 3);
  for (const PeerStanding& standing : peers) {
    CHECK(standing.replica != 1);
    CHECK(standing.heard_at == TimePoint::min());
    CHECK(standing.last_ordered == 0);
  }
}

TEST_CASE("A status tells how far its sender is, and that it is there") {
  Subject backup(1);
  backup.now += seconds(3);
  backup.order(1, {request(1)});
  backup.feed(status(3, 0));
  CHECK(peer(backup, 3).heard_at == backup.now);
  CHECK(peer(backup, 3).behind == 1);
  backup.now += seconds(1);
  backup.feed(status(3, 128, 2, 64));
  CHECK(peer(backup, 3).view == 2);
  CHECK(peer(backup, 3).last_ordered == 128);
  CHECK(peer(backup, 3).last_stable == 64);
  CHECK(peer(backup, 3).behind == 0);
  // An older one that is played again takes nothing back.
  backup.feed(status(3, 5, 0, 0));
  CHECK(peer(backup, 3).last_ordered == 128);
}

TEST_CASE("A frame under a peer's name whose MAC is wrong is not heard as that peer's") {
  const std::vector<Digest> parts{sha256(as_bytes("part"))};
  PledgeMessage pledge;
  pledge.to = 1;
  const std::vector<Frame> frames{
      prepare(3, 1, parts[0]),
      commit(3, 1, parts[0]),
      encode_vote(MessageType::decision, 0, 1, parts[0], ring(3)),
      status(3, 1),
      encode_fetch_parts(1, parts, ring(3)),
      encode_pledge(pledge, ring(3)),
      encode_uncertain({1 << 16, parts[0], parts[0]}, {}, ring(3)),
      encode_present({.reach = 1, .state = parts[0]}, ring(3)),
  };
  for (const Frame& frame : frames) {
    CAPTURE(static_cast<int>(peek_header(*frame)->type));
    Subject backup(1);
    backup.now += seconds(1);
    CHECK_FALSE(backup.feed(spoilt(frame)));
    CHECK(peer(backup, 3).heard_at == TimePoint::min());
    CHECK(backup.feed(frame));
    CHECK(peer(backup, 3).heard_at == backup.now);
  }
}

TEST_CASE("The lag is what f+1 others vouch for") {
  Subject backup(1);
  backup.feed(status(3, 900));
  CHECK(backup.replica.status().lag == 0);
  backup.feed(status(2, 40));
  CHECK(backup.replica.status().lag == 40);
  backup.feed(status(0, 50));
  CHECK(backup.replica.status().lag == 50);
}

TEST_CASE("With more faults to withstand, more have to vouch for the lag") {
  constexpr std::uint32_t kSeven = 7;
  ReplicaSettings settings;
  settings.faults = 2;
  const KeyRing own = ring_of(1, kSeven);
  MemoryPartStore parts;
  GivenInputs inputs;
  Replica replica(settings, own, parts, inputs);
  ReplicaActions actions;
  REQUIRE(replica.start({}, {}, actions));
  const auto feed = [&](NodeId from, std::uint64_t last_ordered) {
    StatusMessage message;
    message.counter = 1;
    message.first_retained = 1;
    message.last_ordered = message.settled = last_ordered;
    return replica.on_frame(*encode_status(message, ring_of(from, kSeven)), {}, actions);
  };
  CHECK(feed(2, 500));
  CHECK(feed(3, 400));
  CHECK(replica.status().lag == 0);
  CHECK(feed(4, 30));
  CHECK(replica.status().lag == 30);
}

TEST_CASE("What contradicts its sender is held against it when a MAC proves it") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  const Proposal other = pre_prepare(1, {request(2)});
  backup.feed(proposal.frame);
  backup.now += seconds(1);
  backup.feed(other.frame);
  const PeerStanding primary = peer(backup, 0);
  CHECK(count(primary.dropped, DropReason::conflicting) == 1);
  CHECK(primary.contradicted_at == backup.now);
  CHECK(primary.forged_at == TimePoint::min());
  CHECK(primary.dropped_in_its_name == DropCounters{});
}

TEST_CASE("What is only sent in a replica's name is counted apart, and does not make it heard") {
  Subject backup(1);
  backup.now += seconds(1);
  backup.feed(spoilt(status(2, 77)));
  const PeerStanding named = peer(backup, 2);
  CHECK(count(named.dropped_in_its_name, DropReason::bad_mac) == 1);
  CHECK(named.dropped == DropCounters{});
  CHECK(named.forged_at == backup.now);
  CHECK(named.heard_at == TimePoint::min());
  CHECK(named.last_ordered == 0);
}

TEST_CASE("Votes beyond a quorum, repetitions and clients' mistakes speak against nobody") {
  Subject backup(1);
  const Proposal proposal = pre_prepare(1, {request(1)});
  backup.order(1, {request(1)});
  backup.feed(commit(3, 1, proposal.batch));
  backup.feed(proposal.frame);
  backup.feed(spoilt(request(9)));
  for (const PeerStanding& standing : backup.replica.status().peers) {
    CHECK(standing.contradicted_at == TimePoint::min());
    CHECK(standing.forged_at == TimePoint::min());
  }
}

TEST_CASE("Another history at one number accuses its signer, another state does not") {
  Subject backup(1);
  const auto claim = [&](NodeId from, std::uint8_t order, std::uint8_t replies,
                         std::uint8_t service) {
    return encode_checkpoint(128, Digest{order}, Digest{replies}, Digest{service}, ring(from));
  };
  // Its service failed, and has been brought to the group's state since.
  backup.feed(claim(2, 7, 0, 0));
  CHECK(backup.feed(claim(2, 7, 8, 9)));
  // It has executed once more, after a crash, on an origin that answers otherwise each time.
  backup.feed(claim(2, 7, 18, 19));
  backup.feed(claim(2, 7, 0, 0));
  CHECK(peer(backup, 2).contradicted_at == TimePoint::min());
  CHECK(backup.dropped(DropReason::conflicting) == 0);
  backup.now += seconds(1);
  CHECK(backup.feed(claim(2, 6, 8, 9)));
  CHECK(peer(backup, 2).contradicted_at == backup.now);
  CHECK(count(peer(backup, 2).dropped, DropReason::conflicting) == 1);
  // In its name, anybody can say anything. A replica that passes it on is known.
  Bytes forged = *claim(3, 7, 8, 9);
  backup.feed(claim(3, 6, 8, 9));
  forged.back() ^= 1;
  backup.feed_as_it_is(encode_sealed(forged, ring(2)));
  backup.feed_as_it_is(claim(3, 5, 8, 9));
  CHECK(peer(backup, 3).contradicted_at == TimePoint::min());
  CHECK(count(peer(backup, 2).dropped, DropReason::bad_signature) == 1);
  CHECK(count(peer(backup, 3).dropped_in_its_name, DropReason::not_sealed) == 1);
}

TEST_CASE("A primary that is given up has failed, and the cause is counted") {
  Subject backup(1);
  backup.tick(milliseconds(0));
  backup.feed(retransmitted(request(1)));
  for (int i = 0; i < 20 && backup.replica.view() == 0; ++i)
    backup.tick(milliseconds(50));
  REQUIRE(backup.replica.state() == ReplicaState::changing_view);
  CHECK(peer(backup, 0).views_failed == 1);
  CHECK(peer(backup, 0).view_failed_at == backup.now);
  CHECK(peer(backup, 2).views_failed == 0);
  const auto& causes = backup.replica.counters().view_changes_by_cause;
  CHECK(causes[static_cast<std::size_t>(ViewChangeCause::request_waited)] == 1);
  CHECK(causes[static_cast<std::size_t>(ViewChangeCause::no_new_view)] == 0);
}

}  // namespace
}  // namespace prophecy::pbft::test

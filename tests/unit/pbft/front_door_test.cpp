// Who may cause work: proven senders, out of shares of their own.
#include <catch2/catch.hpp>

#include "pbft/core/state/payments.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/sealed.hpp"
#include "pbft/wire/view_change.hpp"
#include "pbft/wrongly_signed.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr Duration kAnswerInterval = milliseconds(50);
constexpr int kFlood = 500;

Frame view_change_from(NodeId from, std::uint64_t view) {
  ViewChangeMessage message;
  message.view = view;
  return encode_view_change(message, ring(from));
}

// With a signature that is none.
Frame forged(const Frame& frame) {
  Bytes bytes = *frame;
  bytes.back() ^= 1;
  return std::make_shared<const Bytes>(std::move(bytes));
}

// As anybody can make it of a frame that was recorded.
Frame with_junk_behind(const Frame& frame) {
  Bytes bytes = *frame;
  bytes.resize(bytes.size() + kSignatureSize, 7);
  return std::make_shared<const Bytes>(std::move(bytes));
}

std::uint64_t signatures(const Subject& subject) {
  return subject.replica.counters().signatures_checked;
}

TEST_CASE("A stranger has no signature checked that only a replica may make") {
  Subject backup(1);
  const Digest digest{};
  const std::vector<Frame> view_changes{view_change_from(0, 1), view_change_from(2, 1),
                                        view_change_from(3, 1)};
  const std::vector<ByteView> views(3, ByteView(*view_changes[0]));
  const Frame frame =
      GENERATE_COPY(as<Frame>(), encode_checkpoint(128, digest, digest, digest, ring(2)),
                    view_changes[1], encode_new_view(2, views, ring(2)), encode_rejoin(7, ring(2)),
                    encode_forward(*retransmitted(request(1)), ring(2)));
  CHECK_FALSE(backup.feed_as_it_is(frame));
  CHECK(backup.dropped(DropReason::not_sealed) == 1);
  CHECK(signatures(backup) == 0);
}

TEST_CASE("A flood in a replica's name does not keep its view change away") {
  Subject backup(1);
  const Frame junk = forged(view_change_from(2, 1));
  for (int i = 0; i < kFlood; ++i)
    backup.feed_as_it_is(junk);
  CHECK(backup.feed(view_change_from(2, 1)));
  // Nor does a replica that passes such on: it uses up its own allowance alone.
  for (int i = 0; i < kFlood; ++i)
    backup.feed_as_it_is(encode_sealed(*forged(view_change_from(2, 2)), ring(3)));
  CHECK(signatures(backup) <= 1 + Payments::kOfReplica);
  CHECK(backup.dropped(DropReason::rate_limited) >= kFlood - Payments::kOfReplica);
  CHECK(backup.feed(view_change_from(2, 2)));
  CHECK_FALSE(backup.feed(view_change_from(3, 1)));
  backup.now += kAnswerInterval;
  CHECK(backup.feed(view_change_from(3, 1)));
}

TEST_CASE("What a replica passes on for clients does not keep its own messages away") {
  Subject primary(0);
  for (std::uint32_t session = 0; session < kFlood; ++session) {
    primary.feed(encode_forward(*retransmitted(request(1, "op", false, 0, session)), ring(2)));
  }
  CHECK(signatures(primary) == Payments::kOfReplica);
  CHECK(primary.dropped(DropReason::rate_limited) == kFlood - Payments::kOfReplica);
  CHECK(primary.feed(view_change_from(2, 1)));
  // Nor the other way round.
  for (int i = 0; i < kFlood; ++i)
    primary.feed_as_it_is(encode_sealed(*forged(view_change_from(3, 2)), ring(3)));
  CHECK_FALSE(primary.feed(view_change_from(3, 2)));
  const std::uint64_t before = signatures(primary);
  primary.feed(encode_forward(*retransmitted(request(9)), ring(3)));
  CHECK(signatures(primary) == before + 1);
}

TEST_CASE("A seal proves the replica that made it, for one group of receivers") {
  Subject backup(1);
  const Frame message = view_change_from(2, 1);
  const Frame sealed = encode_sealed(*message, ring(2));
  const auto at = [&](std::size_t place) {
    Bytes bytes = *sealed;
    bytes.at(place) ^= 1;
    return std::make_shared<const Bytes>(std::move(bytes));
  };
  CHECK_FALSE(backup.feed_as_it_is(at(sealed->size() - 3 * kTagSize)));  // its tag for this one
  CHECK_FALSE(backup.feed_as_it_is(at(2)));                              // its sender
  CHECK_FALSE(backup.feed_as_it_is(at(kHeaderSize + 4 + 20)));           // the message
  CHECK_FALSE(backup.feed_as_it_is(encode_sealed(*message, ring(1))));   // this one's own
  CHECK(signatures(backup) == 0);
  CHECK(backup.dropped(DropReason::bad_mac) == 3);
  CHECK(backup.feed_as_it_is(sealed));
  // What needs no seal, and seals within seals, are nothing that a correct replica sends.
  CHECK_FALSE(backup.feed_as_it_is(encode_sealed(*sealed, ring(2))));
  CHECK_FALSE(backup.feed_as_it_is(encode_sealed(*request(1), ring(2))));
  CHECK_FALSE(backup.feed_as_it_is(encode_sealed(Bytes{}, ring(2))));
  CHECK(backup.dropped(DropReason::malformed) == 3);
}

TEST_CASE("A broadcast is sealed once, and once more sent to nobody") {
  Subject backup(1);
  const std::uint64_t heard = 2;
  backup.feed(view_change_from(0, heard));
  backup.actions.clear();
  backup.replica.on_frame(*sealed_for(1, view_change_from(3, heard)), backup.now, backup.actions);
  std::vector<Frame> sealed;
  for (const Outgoing& outgoing : backup.actions.sends) {
    if (decode_sealed(*outgoing.frame, kReplicas)) sealed.push_back(outgoing.frame);
  }
  REQUIRE(sealed.size() == kReplicas - 1);
  CHECK(sealed[0] == sealed[1]);
  CHECK(sealed[0] == sealed[2]);
}

TEST_CASE("A signed request counts where a MAC proves its client, or a replica passes it on") {
  Subject primary(0);
  const Frame unproven = with_wrong_macs(retransmitted(request(1)), {0});
  for (int i = 0; i < kFlood; ++i)
    CHECK_FALSE(primary.feed(unproven));
  CHECK(primary.dropped(DropReason::bad_mac) == kFlood);
  CHECK(signatures(primary) == 0);
  primary.feed(encode_forward(*unproven, ring(2)));
  CHECK(signatures(primary) == 1);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

TEST_CASE("A client pays for the signatures of its requests") {
  Subject backup(1);
  for (std::uint64_t i = 1; i <= kFlood; ++i)
    backup.feed(wrongly_signed(request(i)));
  CHECK(signatures(backup) == Payments::kOfClient);
  CHECK(backup.dropped(DropReason::rate_limited) == kFlood - Payments::kOfClient);
  CHECK_FALSE(backup.feed(retransmitted(request(1))));
  CHECK(backup.feed(retransmitted(request(1, "op", false, 0, 0, kClient + 1))));
  backup.now += kAnswerInterval;
  CHECK(backup.feed(retransmitted(request(1))));
}

TEST_CASE(
    "A primary that wants no signatures takes signed requests beyond the allowance by their MACs") {
  Subject primary(0);
  std::size_t proposed = 0;
  for (std::uint32_t session = 0; session < kFlood; ++session) {
    primary.feed(retransmitted(request(1, "op", false, 0, session)));
    for (const Outgoing& outgoing : primary.actions.sends) {
      const auto message = decode_pre_prepare(*outgoing.frame, kReplicas);
      if (message && outgoing.to == 1) proposed += message->requests.size();
    }
  }
  CHECK(signatures(primary) == Payments::kOfClient);
  CHECK(primary.dropped(DropReason::rate_limited) == 0);
  CHECK(proposed + primary.replica.status().queued_requests == kFlood);
}

TEST_CASE("What was recorded, and is sent again by anybody, uses up nobody's allowance") {
  Subject backup(1);
  const Frame asked = retransmitted(request(1));
  const Frame rejoins = encode_rejoin(7, ring(2));
  for (int i = 0; i < kFlood; ++i) {
    CHECK(backup.feed(asked));
    backup.feed(rejoins);
  }
  CHECK(signatures(backup) == 2);
  CHECK_FALSE(backup.feed(forged(asked)));
  CHECK(backup.feed(retransmitted(request(2))));
  backup.feed(encode_rejoin(8, ring(2)));
  // Another replica may pass it on, which asks for nothing, and cannot say so in its name.
  backup.now += seconds(10);
  backup.actions.clear();
  CHECK(backup.feed_as_it_is(encode_sealed(*rejoins, ring(3))));
  CHECK(backup.actions.sends.size() == backup.sent(MessageType::forward));  // of what waits
  CHECK_FALSE(backup.feed_as_it_is(encode_sealed(*forged(encode_rejoin(9, ring(2))), ring(3))));
}

TEST_CASE("A signature that another has put behind a client's request costs that client nothing") {
  Subject backup(1);
  backup.order(1, {request(2)});
  for (int i = 0; i < kFlood; ++i) {
    backup.feed(with_junk_behind(request(1)));              // an old one
    backup.feed(with_junk_behind(request(3)));              // one that waits
    backup.feed(forged(retransmitted(request(3))));         // exchanged
    backup.feed(with_junk_behind(request(9, "op", true)));  // a read
  }
  CHECK(signatures(backup) == 0);
  CHECK(backup.dropped(DropReason::rate_limited) == 0);
  CHECK(backup.feed(retransmitted(request(3))));
}

TEST_CASE("Old requests that their client has signed cost it nothing, nor do overtaken ones") {
  Subject backup(1);
  std::vector<Frame> old;
  for (std::uint64_t i = 1; i <= kFlood; ++i)
    old.push_back(retransmitted(request(i)));
  backup.order(1, {request(kFlood + 1)});
  const std::vector<Frame> waiting{retransmitted(request(kFlood + 2)),
                                   retransmitted(request(kFlood + 3))};
  for (const Frame& frame : old) {
    backup.feed(frame);
    backup.feed(encode_forward(*with_wrong_macs(frame, {1}), ring(2)));
    for (const Frame& other : waiting)
      backup.feed(other);
  }
  CHECK(signatures(backup) == 2);
  CHECK(backup.feed(retransmitted(request(kFlood + 4))));
}

TEST_CASE("A request that is answered already is answered again upon its MAC alone") {
  Subject backup(1);
  backup.order(1, {request(1)});
  backup.executed(1, "result");
  const std::uint64_t before = signatures(backup);
  CHECK(backup.feed(retransmitted(request(1))));
  CHECK(backup.sent(MessageType::reply) == 1);
  CHECK(signatures(backup) == before);
}

TEST_CASE("A forwarded request counts for the replica that has sealed it") {
  Subject primary(0);
  const Frame forward = encode_forward(*request(1), ring(1));
  primary.feed_as_it_is(encode_sealed(*forward, ring(2)));
  CHECK(primary.dropped(DropReason::unknown_sender) == 1);
  CHECK(primary.sent(MessageType::pre_prepare) == 0);
  primary.feed(forward);
  CHECK(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
}

constexpr std::uint64_t kLongAgo = 1'000'000;

Frame old_claim(NodeId from) {
  const Digest digest{7};
  return encode_checkpoint(kLongAgo, digest, digest, digest, ring(from));
}

Frame status_from(NodeId from, std::uint64_t reached, std::uint64_t counter) {
  StatusMessage message;
  message.counter = counter;
  message.first_retained = 1;
  message.last_ordered = reached;
  message.last_stable = reached;
  message.settled = reached;
  return encode_status(message, ring(from));
}

TEST_CASE("A certificate of an earlier life of the group is none, unless f+1 have come so far") {
  Subject backup(1);
  const auto show = [&] {
    for (const NodeId signer : {0u, 2u, 3u})
      backup.feed_as_it_is(encode_sealed(*old_claim(signer), ring(3)));
  };
  show();
  backup.feed(status_from(3, kLongAgo, 1));
  show();
  CHECK(backup.replica.status().last_stable == 0);
  CHECK(signatures(backup) == 0);
  CHECK(backup.dropped(DropReason::outside_water_marks) == 6);
  backup.feed(status_from(0, kLongAgo, 1));
  show();
  CHECK(backup.replica.status().last_stable == kLongAgo);
}

TEST_CASE("Nor is it within a view change, or a new view, which accuse nobody for that") {
  Subject backup(2);
  std::vector<Frame> claims;
  for (const NodeId signer : {0u, 1u, 3u})
    claims.push_back(old_claim(signer));
  ViewChangeMessage message;
  message.view = 1;
  message.stable = kLongAgo;
  for (const Frame& claim : claims)
    message.certificate.emplace_back(*claim);
  const Frame old = encode_view_change(message, ring(3));
  CHECK_FALSE(backup.feed(old));
  const std::vector<Frame> asked{view_change_from(0, 1), view_change_from(1, 1), old};
  std::vector<ByteView> frames;
  for (const Frame& frame : asked)
    frames.emplace_back(*frame);
  backup.feed(encode_new_view(1, frames, ring(1)));
  CHECK(backup.replica.status().last_stable == 0);
  CHECK(backup.replica.view() == 0);
  for (const PeerStanding& standing : backup.replica.status().peers)
    CHECK(standing.contradicted_at == TimePoint::min());
}

// Knows that a batch is committed whose content it has not got.
struct Awaiting : Subject {
  Awaiting() : Subject(1) {
    for (const NodeId peer : {0u, 2u}) {
      feed(encode_vote(MessageType::decision, 0, 1, proposal.batch, ring(peer)));
    }
  }
  const Proposal proposal = pre_prepare(1, {request(1)}, 0, 3);
};

TEST_CASE("The content of a batch is taken from replicas, each within its own share") {
  Awaiting backup;
  // Without a seal, in a name whose MAC is wrong.
  Bytes bare = *backup.proposal.frame;
  for (std::size_t i = bare.size() - kReplicas * kTagSize; i < bare.size(); ++i)
    bare[i] ^= 1;
  const Frame unproven = std::make_shared<const Bytes>(bare);
  for (int i = 0; i < 3; ++i)
    backup.feed_as_it_is(unproven);
  CHECK(backup.actions.executions.empty());
  CHECK(backup.dropped(DropReason::bad_mac) == 3);
  // Replica 2 sends others' contents in bulk; that is no reason to refuse replica 0.
  const std::string large(kInlineBytesMax - 100, 'x');
  const Frame other =
      encode_sealed(*pre_prepare(1, {request(1, large), request(2, large)}, 0, 3).frame, ring(2));
  for (int i = 0; i < 20; ++i)
    backup.feed_as_it_is(other);
  CHECK(backup.dropped(DropReason::rate_limited) > 0);
  backup.feed_as_it_is(encode_sealed(bare, ring(0)));
  CHECK(backup.actions.executions.size() == 1);
}

}  // namespace
}  // namespace prophecy::pbft::test

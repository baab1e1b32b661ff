// A member takes a file of the group that lists another key of replica 2: what that replica signed
// proves nothing to others any more.
#include <catch2/catch.hpp>

#include "pbft/core/state/checkpoints.hpp"
#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"
#include "pbft/wire/view_change.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr NodeId kReplaced = 2;

PrivateKeys later_secrets_of(NodeId node) {
  PrivateKeys keys = secrets_of(node);
  if (node != kReplaced) return keys;
  for (PrivateKey* key : {&keys.exchange, &keys.signing})
    key->bytes[3] = 1;
  return keys;
}

KeyRing later_ring(NodeId node) {
  std::vector<Member> members = members_of(kReplicas);
  members[kReplaced].public_keys = *public_keys_of(later_secrets_of(kReplaced));
  KeyRing ring = *KeyRing::derive(node, later_secrets_of(node), as_bytes("test group"), members);
  members.erase(members.begin() + kReplaced);  // which is not there
  establish_with_all(ring, members);
  return ring;
}

// Replica 1, whose checkpoint of the first batch is stable by the signatures of 0, itself and 2;
// and started again with the later file.
struct Restarted {
  Subject before{1, every_batch()};
  CheckpointMessage claim;
  Frame claim_of_3;
  KeyRing keys = later_ring(1);
  MemoryPartStore parts;
  GivenInputs inputs;
  ReplicaActions actions;
  TimePoint now{};
  std::optional<Replica> replica;

  Restarted() {
    before.order(1, {request(1)});
    before.executed(before.actions.executions.at(0).id, "result");
    claim = *decode_checkpoint(*sent_by(before, MessageType::checkpoint));
    const auto claim_of = [&](NodeId from) {
      return encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service,
                               ring(from));
    };
    claim_of_3 = claim_of(3);
    before.now += seconds(2);
    before.feed(claim_of(0));
    before.feed(claim_of(kReplaced));
    REQUIRE(before.replica.status().base == 1);
    for (const auto& [digest, part] : before.parts.all())
      REQUIRE(parts.keep(digest, part));
    replica.emplace(every_batch(), keys, parts, inputs);
    REQUIRE(replica->start(before.restarted(), now, actions));
    REQUIRE(actions.restore);
    replica->on_restored(true, now, actions);
  }
  void feed(const Frame& frame) {
    actions.clear();
    replica->on_frame(*sealed_for(1, frame), now, actions);
  }
  void tick(Duration after) {
    actions.clear();
    pass(after, *replica, now, actions);
  }
  [[nodiscard]] Frame sent(MessageType type) const {
    for (const Outgoing& outgoing : actions.sends) {
      Frame frame = opened(outgoing.frame);
      if (peek_header(*frame)->type == type) return frame;
    }
    return nullptr;
  }
  [[nodiscard]] std::uint64_t told_stable() {
    for (int i = 0; i < 100; ++i) {
      tick(milliseconds(20));
      if (const Frame status = sent(MessageType::status))
        return decode_status(*status, kReplicas)->last_stable;
    }
    FAIL("no Status");
    return 0;
  }
};

}  // namespace

TEST_CASE("A restarted replica asks for signatures in place of those that are void") {
  Restarted subject;
  CHECK(subject.replica->status().last_stable == 1);
  CHECK(subject.told_stable() == 0);  // so others show theirs
  subject.feed(subject.claim_of_3);
  CHECK(subject.told_stable() == 1);
}

TEST_CASE("A certificate with a void signature is shown to nobody once there is another one") {
  Restarted subject;
  const bool has_other = GENERATE(false, true);
  if (has_other) subject.feed(subject.claim_of_3);
  subject.feed(retransmitted(request(2)));
  subject.tick(seconds(5));
  Frame asked = subject.sent(MessageType::view_change);
  REQUIRE(asked != nullptr);
  // Asked for before: it is asked for again when the certificate is whole.
  if (!has_other) {
    subject.feed(subject.claim_of_3);
    asked = subject.sent(MessageType::view_change);
    REQUIRE(asked != nullptr);
  }
  std::vector<NodeId> signers;
  const auto message = decode_view_change(*asked, kReplicas);
  REQUIRE(message);
  for (const ByteView frame : message->certificate)
    signers.push_back(decode_checkpoint(frame)->replica);
  CHECK(signers == std::vector<NodeId>{0, 1, 3});
}

TEST_CASE("A replica shows its own signature besides the certificate that it has") {
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  const CheckpointClaim claim{1, sha256(as_bytes("order")), {}, {}};
  const auto claimed = [&](NodeId from) {
    return encode_checkpoint(claim.sequence, claim.order, claim.replies, claim.service, ring(from));
  };
  checkpoints.keep_own(claim, claimed(3));
  checkpoints.adopt({{0, claim, claimed(0)}, {1, claim, claimed(1)}, {2, claim, claimed(2)}});
  std::vector<Frame> shown;
  checkpoints.frames_above(0, shown);
  CHECK(shown.size() == 4);
  // Nor is that of a replaced key shown.
  checkpoints.review([](const Checkpoints::SignedClaim& one) { return one.replica != kReplaced; });
  CHECK_FALSE(checkpoints.is_proven());
  shown.clear();
  checkpoints.frames_above(0, shown);
  CHECK(shown.size() == 3);
  checkpoints.record(3, claim, claimed(3));
  CHECK(checkpoints.is_proven());
  CHECK(checkpoints.take_proven());
  CHECK_FALSE(checkpoints.take_proven());
}

TEST_CASE("A new view with a signature by another file's key accuses nobody") {
  Subject backup(3);
  const auto asks = [&](NodeId from, const KeyRing& keys) {
    ViewChangeMessage message;
    message.incarnation = 1000;
    message.view = 1;
    (void)from;
    return encode_view_change(message, keys);
  };
  const Frame of_0 = asks(0, ring(0));
  const Frame of_1 = asks(1, ring(1));
  const Frame of_2 = asks(2, later_ring(2));
  const std::vector<ByteView> all{*of_0, *of_1, *of_2};
  backup.feed(encode_new_view(1, all, ring(1)));
  CHECK(backup.dropped(DropReason::bad_signature) == 1);
  for (const PeerStanding& peer : backup.replica.status().peers)
    CHECK(peer.contradicted_at == TimePoint::min());
}

}  // namespace prophecy::pbft::test

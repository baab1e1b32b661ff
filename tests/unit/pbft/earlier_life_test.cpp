// Claims of states by a replica that has lost its memory since: the replica may have been faulty
// then, and others may be now.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t kFirst = 5;  // incarnations of replica 2
constexpr std::uint64_t kSecond = 6;

const Digest kFalse = sha256(as_bytes("a state that no correct replica has"));

CheckpointMessage claim_after_one() {
  Subject other(1, every_batch());
  return execute_one(other, request(1));
}

Frame with_state(const CheckpointMessage& claim, const Digest& state, NodeId from,
                 std::uint64_t incarnation = 0) {
  return encode_checkpoint(claim.sequence, claim.order, state, state, ring(from), incarnation);
}

// It behaves as one that was cut off: the checkpoint is stable, and what led there does not come.
bool fetches(Subject& backup) {
  backup.tick(seconds(1));
  return backup.replica.status().recovery == RecoveryState::fetching;
}

}  // namespace

TEST_CASE("What was claimed before a loss of memory certifies no state") {
  const CheckpointMessage claim = claim_after_one();
  Subject backup(1, every_batch());
  const bool hears_first = GENERATE(true, false);
  if (hears_first) backup.feed(encode_rejoin(kSecond, ring(2)));
  backup.feed(with_state(claim, kFalse, 2, kFirst));
  backup.feed(with_state(claim, kFalse, 3));
  backup.feed(with_state(claim, claim.service, 0));
  REQUIRE(backup.replica.status().last_stable == 1);
  if (!hears_first) {
    REQUIRE(fetches(backup));
    backup.feed(encode_rejoin(kSecond, ring(2)));
  }
  CHECK_FALSE(fetches(backup));
  // The claim of its present life takes the place of the old one, which does not undo it.
  backup.feed(with_state(claim, claim.service, 2, kSecond));
  backup.feed(with_state(claim, kFalse, 2, kFirst));
  CHECK(fetches(backup));
}

TEST_CASE("A restart reads no state out of the old word in its certificate") {
  const CheckpointMessage claim = claim_after_one();
  Subject before(1, every_batch());
  before.feed(encode_rejoin(kSecond, ring(2)));
  before.feed(with_state(claim, kFalse, 2, kFirst));
  before.feed(with_state(claim, kFalse, 3));
  before.feed(with_state(claim, claim.service, 0));
  REQUIRE(before.replica.status().last_stable == 1);
  Subject backup(1, every_batch(), before.restarted());
  REQUIRE(backup.replica.status().last_stable == 1);
  CHECK_FALSE(fetches(backup));
  backup.feed(with_state(claim, claim.service, 2, kSecond));
  CHECK(fetches(backup));
}

TEST_CASE("A repair ends when those that claimed its state turn out to have lost their memory") {
  Subject backup(1, every_batch());
  const CheckpointMessage claim = execute_one(backup, request(1));
  backup.feed(with_state(claim, kFalse, 2, kFirst));
  backup.feed(with_state(claim, kFalse, 3));
  REQUIRE(fetches(backup));
  backup.feed(encode_rejoin(kSecond, ring(2)));
  CHECK_FALSE(fetches(backup));
}

TEST_CASE("What a state is compared with is what is claimed in this life") {
  const CheckpointClaim own{1, sha256(as_bytes("order")), {}, sha256(as_bytes("state"))};
  Checkpoints checkpoints(QuorumRule::standard(1), 16);
  const auto claimed = [&](NodeId from, std::uint64_t incarnation = 0) {
    return encode_checkpoint(own.sequence, own.order, own.replies, own.service, ring(from),
                             incarnation);
  };
  const bool is_told_late = GENERATE(true, false);
  checkpoints.keep_own(own, claimed(1));
  checkpoints.record(1, own, claimed(1));
  checkpoints.record(0, own, claimed(0));
  checkpoints.record(2, own, claimed(2, is_told_late ? kSecond : kFirst));
  REQUIRE(checkpoints.stable_sequence() == 1);
  checkpoints.watch(1);
  checkpoints.begin_life(2, kSecond);
  CHECK(checkpoints.watched()->others[2].has_value() == is_told_late);
  CHECK(checkpoints.watched()->others[0].has_value());
}

}  // namespace prophecy::pbft::test

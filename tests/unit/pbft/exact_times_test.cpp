// Times of the core, to the instant: what is due is done then, by the timer that it asks for, and
// not before.
#include <catch2/catch.hpp>

#include "pbft/every_batch.hpp"
#include "pbft/views/view_frames.hpp"

namespace prophecy::pbft::test {
namespace {

void feed_claims(Subject& replica, std::initializer_list<NodeId> peers,
                 const CheckpointMessage& claim, const Digest& service) {
  for (const NodeId peer : peers) {
    replica.feed(
        encode_checkpoint(claim.sequence, claim.order, claim.replies, service, ring(peer)));
  }
}

// Wakes the replica when it has asked for that, and never else. How long it takes.
Duration until_it_fetches(Subject& replica) {
  const TimePoint then = replica.now;
  for (int ticks = 0; replica.replica.status().recovery != RecoveryState::fetching; ++ticks) {
    REQUIRE(ticks < 1000);
    REQUIRE(replica.replica.next_timer() > replica.now);
    replica.tick(replica.replica.next_timer() - replica.now);
  }
  return replica.now - then;
}

// A Status of replica 3 in view 0, and what it is answered.
std::size_t shown(Subject& replica, std::uint64_t counter) {
  StatusMessage status;
  status.counter = counter;
  status.first_retained = 1;
  replica.feed(encode_status(status, ring(3)));
  return replica.sent(MessageType::new_view);
}

}  // namespace

TEST_CASE("Claims of other states are waited for for 300 ms") {
  Subject backup(1, every_batch());
  backup.tick(milliseconds(0));
  const CheckpointMessage claim = execute_one(backup);
  MemoryPartStore theirs;
  feed_claims(backup, {0, 2}, claim, service_state(theirs, "the group's state"));
  CHECK(until_it_fetches(backup) == milliseconds(300));
}

TEST_CASE("A replica that lags asks for a state after ten intervals of its Status") {
  Subject ahead(1, every_batch());
  const CheckpointMessage claim = execute_one(ahead);
  Subject backup(1, every_batch());
  backup.tick(milliseconds(0));
  feed_claims(backup, {0, 2, 3}, claim, claim.service);
  REQUIRE(backup.replica.status().last_stable == 1);
  CHECK(until_it_fetches(backup) == 10 * every_batch().status_interval);
}

TEST_CASE("A peer in an older view is shown what began this one every 200 ms") {
  Subject backup(2);
  backup.feed(new_view(1, 1, {view_change(0, 1), view_change(1, 1), view_change(3, 1)}));
  REQUIRE(backup.replica.status().view == 1);
  REQUIRE(backup.replica.state() == ReplicaState::normal);
  backup.now += seconds(1);
  REQUIRE(shown(backup, 1) == 1);
  SECTION("not earlier") {
    backup.now += milliseconds(199);
    CHECK(shown(backup, 2) == 0);
  }
  SECTION("but then") {
    backup.now += milliseconds(200);
    CHECK(shown(backup, 2) == 1);
  }
}

}  // namespace prophecy::pbft::test

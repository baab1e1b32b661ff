// Whom a replica blames, and whom not, while its own service takes longer for a request than a
// primary is given.
#include <catch2/catch.hpp>

#include "pbft/group.hpp"

namespace prophecy::pbft::test {
namespace {

// A checkpoint comes after every batch, so that nothing behind the first is begun before the
// service has ended it.
struct Busy : Subject {
  Busy() : Subject(1, settings()) {
    tick(milliseconds(0));
    order(1, {request(1)});
    REQUIRE(actions.executions.size() == 1);
    execution = actions.executions[0].id;
  }
  static ReplicaSettings settings() {
    ReplicaSettings settings;
    settings.checkpoint_interval = 1;
    settings.partial_batches_in_flight_max = 2;
    return settings;
  }
  void order_two_more() {
    order(2, {request(2)});
    order(3, {request(3)});
  }
  [[nodiscard]] bool is_content() const {
    return replica.status().state == ReplicaState::normal &&
           replica.counters().view_changes_started == 0;
  }

  std::uint64_t execution = 0;
};

Frame waiting_request() {
  return retransmitted(request(1, "another", false, 0, kAnotherSession));
}

}  // namespace

TEST_CASE("What is agreed on, and waits for the own service, blames nobody") {
  Busy backup;
  backup.order(2, {request(1, "another", false, 0, kAnotherSession)});
  backup.feed(waiting_request());
  backup.tick(20 * kPatience);
  CHECK(backup.replica.status().last_ordered == 1);
  CHECK(backup.is_content());
}

TEST_CASE("A request for which there is no room while the service is busy blames nobody") {
  Busy backup;
  backup.order_two_more();
  backup.feed(waiting_request());
  backup.tick(20 * kPatience);
  CHECK(backup.is_content());

  // From here on the primary can order it, and has its time for that.
  backup.executed(backup.execution, "result");
  CHECK(backup.replica.status().last_ordered == 2);
  backup.tick(kPatience - milliseconds(1));
  CHECK(backup.is_content());
  backup.tick(milliseconds(1));
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A primary that could order a request and does not is blamed, however busy the service") {
  Busy backup;
  backup.feed(waiting_request());
  backup.tick(kPatience);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE(
    "What is proposed and not agreed on is held against the primary, however busy the service") {
  Busy backup;
  backup.feed(pre_prepare(2, {request(2)}).frame);
  backup.tick(kPatience);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

TEST_CASE("A busy service is no excuse for a primary that passes a request over again and again") {
  Busy backup;
  backup.feed(waiting_request());
  // The primary orders others' requests, and each keeps the service busy for long.
  std::uint64_t sequence = 2;
  for (; sequence < 200 && backup.is_content(); ++sequence) {
    backup.order(sequence, {request(sequence)});
    if (sequence < 3) continue;
    backup.tick(2 * kPatience);
    if (!backup.is_content()) break;
    backup.executed(backup.execution, "result");
    REQUIRE(backup.actions.executions.size() == 1);
    backup.execution = backup.actions.executions[0].id;
  }
  CHECK(sequence > 10);
  CHECK(backup.replica.status().state == ReplicaState::changing_view);
}

}  // namespace prophecy::pbft::test

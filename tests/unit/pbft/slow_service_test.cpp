// Whom a replica blames, and whom not, while its own service takes longer for a request than a
// primary is given; and how fast it goes on as primary.
#include <catch2/catch.hpp>

#include "pbft/core/ordering/service_pace.hpp"
#include "pbft/views/view_frames.hpp"

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

TEST_CASE("A new primary does not wait for its service to catch up with older views") {
  Busy primary;
  primary.order_two_more();
  std::vector<BatchRecord> records;
  std::vector<Digest> batches;
  for (const std::uint64_t sequence : {1U, 2U, 3U}) {
    batches.push_back(pre_prepare(sequence, {request(sequence)}).batch);
    records.push_back({sequence, 0, batches.back()});
  }
  for (const NodeId peer : {2U, 3U})
    primary.feed(view_change(peer, 1, records, records));
  REQUIRE(primary.replica.status().state == ReplicaState::normal);
  REQUIRE(primary.replica.status().view == 1);
  const auto propose = [&](std::uint32_t session) {
    primary.feed(request(1, "a", false, 0, session));
    return primary.sent(MessageType::pre_prepare) == kReplicas - 1;
  };
  CHECK_FALSE(propose(1));  // they are not agreed on in this view yet
  std::size_t sent = 0;
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) {
    for (const MessageType vote : {MessageType::prepare, MessageType::commit}) {
      for (const NodeId peer : {2U, 3U}) {
        primary.feed(encode_vote(vote, 1, sequence, batches[sequence - 1], ring(peer)));
        sent += primary.sent(MessageType::pre_prepare);
      }
    }
  }
  CHECK(sent == kReplicas - 1);
  CHECK(primary.replica.status().executions_in_flight == 1);
  // As many as it may have in flight.
  CHECK(propose(2));
  CHECK_FALSE(propose(3));
}

TEST_CASE("A primary catches up with older views while it goes on at half its service's pace") {
  // It has executed 10 of 30 batches with which its view begins.
  ServicePace pace{10, 10, 30, 12};
  CHECK(pace.done() == 12);
  pace.agreed = 30;
  CHECK(pace.done() == 30);
  pace.ordered = 20;
  pace.agreed = 40;
  CHECK(pace.done() == 35);
  pace.agreed = 34;
  CHECK(pace.done() == 34);
  pace = {50, 10, 30, 60};
  CHECK(pace.done() == 50);
  pace.ordered = 90;
  pace.agreed = 95;
  CHECK(pace.done() == 90);
  // In view 0, and in a state from before the view began.
  CHECK(ServicePace{7, 0, 0, 9}.done() == 7);
  CHECK(ServicePace{5, 10, 30, 30}.done() == 30);
}

}  // namespace prophecy::pbft::test

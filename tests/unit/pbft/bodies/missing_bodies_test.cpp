// What bodies cost that are announced and do not come.
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {

TEST_CASE("One client has a thousand bodies under way, however small, and others find room") {
  constexpr std::uint32_t kMost = 1024;
  Subject backup(2);
  for (std::uint32_t session = 0; session < kMost + 10; ++session)
    backup.feed(announcement(kClient, session));
  CHECK(backup.replica.status().bodies_missing == kMost);
  CHECK(backup.dropped(DropReason::queue_full) == 10);
  backup.feed(announcement(kClient + 1, kMost + 10));
  CHECK(backup.replica.status().bodies_missing == kMost + 1);
}

TEST_CASE("All clients have two thousand bodies under way, and each of them one") {
  constexpr std::uint32_t kMost = 1024;
  Subject backup(2);
  for (std::uint32_t number = 0; number < kMost; ++number)
    backup.feed(announcement(kClient, number));
  for (std::uint32_t number = kMost; number < 2 * kMost; ++number)
    backup.feed(announcement(kClient + 1, number));
  CHECK(backup.replica.status().bodies_missing == 2 * kMost);
  CHECK(backup.dropped(DropReason::queue_full) == 0);
  for (std::uint32_t number = 2 * kMost; number < 2 * kMost + 3; ++number)
    backup.feed(announcement(kClient + 3, number));
  CHECK(backup.replica.status().bodies_missing == 2 * kMost + 1);
  CHECK(backup.dropped(DropReason::queue_full) == 2);
  // Bodies that do not come are given up, and leave their room to others.
  backup.tick(seconds(6));
  CHECK(backup.replica.counters().bodies_given_up == 2 * kMost + 1);
  backup.feed(announcement(kClient + 3, 3 * kMost));
  CHECK(backup.replica.status().bodies_missing == 1);
}

TEST_CASE("A body that does not come is asked for again in time, whatever else is missing") {
  Subject backup(2);
  constexpr std::uint32_t kBodies = 20;
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    backup.now += milliseconds(1);
    backup.feed(announcement(kClient, number));
    REQUIRE(asked_by(backup).size() == 1);
    CHECK(asked_by(backup)[0].parts == std::vector<Digest>{absent_body(number).root});
  }
  // Each 200 ms after it was asked for.
  backup.tick(milliseconds(180));
  CHECK(asked_by(backup).empty());
  for (std::uint32_t number = 0; number < kBodies; ++number) {
    backup.tick(milliseconds(1));
    REQUIRE(asked_by(backup).size() == 1);
    CHECK(asked_by(backup)[0].parts == std::vector<Digest>{absent_body(number).root});
  }
}

namespace {

Frame naming(std::uint64_t sequence, std::uint32_t bodies) {
  std::vector<Frame> requests;
  for (std::uint32_t i = 0; i < bodies; ++i)
    requests.push_back(announcement(kClient, static_cast<std::uint32_t>(sequence) * 34 + i));
  return pre_prepare(sequence, requests).frame;
}

}  // namespace

TEST_CASE("A batch names no more bodies than a correct primary puts into one") {
  Subject backup(2);
  backup.feed(naming(1, kBatchBodiesMax + 1));
  CHECK(backup.dropped(DropReason::malformed) == 1);
  CHECK(backup.replica.status().bodies_missing == 0);
  backup.feed(naming(1, kBatchBodiesMax));
  CHECK(backup.replica.status().bodies_missing == kBatchBodiesMax);

  ReplicaSettings settings;
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 1;
  RequestQueue queue(settings, QuorumRule::standard(1));
  std::vector<RequestQueue::Displaced> displaced;
  const RequestQueue::HeldBody everywhere{nullptr, UINT64_MAX};
  for (std::uint32_t number = 0; number < 2 * kBatchBodiesMax; ++number) {
    const Frame frame = announcement(kClient, number);
    const auto message = decode_request(*frame, kReplicas);
    REQUIRE(queue.add(*message, *frame, sha256(message->content), everywhere,
                      RequestQueue::Place::last, displaced));
  }
  CHECK(queue.take().requests.size() == kBatchBodiesMax);
  CHECK(queue.take().requests.size() == kBatchBodiesMax);
}

TEST_CASE("Bodies fill the log by their number as well, however small they are") {
  ReplicaSettings settings;
  settings.checkpoint_bytes = 1;
  settings.log_bytes_max = 1 << 20;
  Subject backup(2, settings);
  for (std::uint64_t sequence = 1; sequence <= 100; ++sequence)
    backup.feed(naming(sequence, kBatchBodiesMax));
  const std::uint64_t most = 2 * settings.log_bytes_max / settings.body_cost + kBatchBodiesMax;
  CHECK(backup.replica.status().bodies_missing <= most);
  CHECK(backup.dropped(DropReason::queue_full) > 0);
}

TEST_CASE(
    "However many bodies are missing, an event asks for some of them, and the next for more") {
  constexpr std::uint32_t kAtOnce = 256;
  constexpr std::uint32_t kBatches = 3 * kAtOnce / kBatchBodiesMax;
  Subject backup(2);
  for (std::uint64_t sequence = 1; sequence <= kBatches; ++sequence)
    backup.feed(naming(sequence, kBatchBodiesMax));
  REQUIRE(backup.replica.status().bodies_missing == 3 * kAtOnce);
  std::set<Digest> asked;
  backup.jump(milliseconds(300));
  for (std::uint32_t turn = 1; turn <= 3; ++turn) {
    CHECK(asked_by(backup).size() <= kAtOnce);
    for (const Asked& by : asked_by(backup))
      asked.insert(by.parts.begin(), by.parts.end());
    CHECK(asked.size() == turn * kAtOnce);
    if (turn < 3) CHECK(backup.replica.next_timer() <= backup.now);
    backup.jump({});
  }
}

TEST_CASE("Who says that it has a body that does not come is asked for it at once") {
  Subject backup(1);
  const Frame request = retransmitted(by_digest(1));
  backup.feed(request);
  const auto asks = [&](NodeId of) {
    const auto asked = asked_by(backup);
    return std::any_of(asked.begin(), asked.end(), [&](const Asked& a) { return a.of == of; });
  };
  REQUIRE(asks(kClient));
  backup.jump(seconds(1));
  backup.feed(forwarded(2, request));
  CHECK(asks(2));
  // Until it is the client's turn again.
  for (int i = 0; i < 10 && !asks(kClient); ++i)
    backup.jump(milliseconds(500));
  REQUIRE(asks(kClient));
  backup.feed(forwarded(3, request));
  CHECK(asks(3));
}

}  // namespace prophecy::pbft::test

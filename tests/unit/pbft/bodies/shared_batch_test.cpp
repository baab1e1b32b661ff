// Several requests by digest in one batch: each replica that is to prepare it needs all bodies.
#include <algorithm>
#include <array>
#include <bit>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/request_queue.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t bits(NodeId one, NodeId other) {
  return std::uint64_t{1} << one | std::uint64_t{1} << other;
}
// Any two of the backups, but no backup in all three.
constexpr std::array<std::uint64_t, 3> kHolders = {bits(1, 2), bits(2, 3), bits(1, 3)};

BodyTree numbered_body(std::size_t number) {
  return BodyTree(bytes_of_size(450 + number), 100);
}

std::uint64_t holders_of(const BodyName& name) {
  return kHolders.at(name.size - 450);
}

struct BatchQueue {
  BatchQueue() : queue(settings, QuorumRule::standard(1)) {}

  bool add(NodeId client, std::uint64_t timestamp, std::uint64_t holders) {
    const Frame frame = holders != 0 ? by_digest(timestamp) : request(timestamp, "small");
    auto message = decode_request(*frame, kReplicas);
    message->client = client;
    return queue.add(*message, *frame, sha256(message->content), {nullptr, holders},
                     RequestQueue::Place::last, displaced);
  }
  // The clients of the requests in the next batch.
  std::vector<NodeId> take() {
    std::vector<NodeId> clients;
    for (const BatchRequest& each : queue.take().requests)
      clients.push_back(each.client);
    return clients;
  }

  ReplicaSettings settings;
  std::vector<RequestQueue::Displaced> displaced;
  RequestQueue queue;
};

}  // namespace

TEST_CASE("A primary proposes bodies in one batch while 2f others have all of them") {
  ReplicaSettings settings;
  settings.batch_requests_max = 3;
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 8;
  Subject primary(0, settings);
  std::size_t bodies_proposed = 0;
  const auto check_proposals = [&] {
    for (const Outgoing& outgoing : primary.actions.sends) {
      if (outgoing.to != 1) continue;
      const auto batch = decode_pre_prepare(*outgoing.frame, kReplicas);
      if (!batch) continue;
      std::uint64_t holders = UINT64_MAX;
      for (const RequestMessage& request : batch->requests) {
        if (!request.body) continue;
        ++bodies_proposed;
        holders &= holders_of(*request.body);
      }
      CHECK(std::popcount(holders) >= 2);
    }
  };
  primary.feed(request(1, "small", false, 0, 9));
  REQUIRE(primary.sent(MessageType::pre_prepare) == kReplicas - 1);
  for (std::uint32_t number = 0; number < kHolders.size(); ++number) {
    const BodyTree body = numbered_body(number);
    const Frame named = by_digest(1, body.name(), number);
    primary.feed(named);
    deliver(primary, body);
    for (NodeId backup = 1; backup < kReplicas; ++backup) {
      if ((kHolders.at(number) >> backup & 1) == 0) continue;
      primary.feed(forwarded(backup, named));
      check_proposals();
    }
  }
  // The last one waits until something is ordered, as one alone does.
  CHECK(bodies_proposed == 2);
  CHECK(primary.replica.status().last_proposed == 3);
}

TEST_CASE("A body that cannot join a batch begins the next one, and holds nobody else up") {
  BatchQueue waiting;
  const NodeId torn = kClient;
  REQUIRE(waiting.add(torn, 1, kHolders[0]));
  REQUIRE(waiting.add(torn, 2, kHolders[1]));
  REQUIRE(waiting.add(torn, 3, kHolders[2]));
  CHECK(waiting.queue.first_is_full());
  for (std::uint64_t i = 1; i <= 3; ++i)
    REQUIRE(waiting.add(kClient + 1, i, 0));
  CHECK(waiting.take() == std::vector<NodeId>{torn});
  std::vector<NodeId> next = waiting.take();
  CHECK(std::count(next.begin(), next.end(), torn) == 1);
  CHECK(std::count(next.begin(), next.end(), kClient + 1) == 3);
  CHECK(waiting.take() == std::vector<NodeId>{torn});
  CHECK(waiting.queue.empty());
}

TEST_CASE("Bodies share a batch once the same replicas have come to have them") {
  BatchQueue waiting;
  const std::uint64_t all = kHolders[0] | kHolders[1];
  for (std::uint64_t i = 1; i <= 3; ++i)
    REQUIRE(waiting.add(kClient + static_cast<NodeId>(i % 2), i, kHolders.at(i - 1)));
  REQUIRE(waiting.add(kClient + 2, 4, 0));
  SECTION("those that wait") {
    waiting.queue.note_holders(kClient, 0, 2, all);
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1, kClient, kClient + 2});
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1});
  }
  SECTION("the one in the batch, whichever it is") {
    waiting.queue.note_holders(kClient + 1, 0, 1, all);
    CHECK(waiting.take().size() == 3);
    CHECK(waiting.take().size() == 1);
  }
  SECTION("all of them") {
    waiting.queue.note_holders(kClient + 1, 0, 1, all);
    waiting.queue.note_holders(kClient + 1, 0, 3, all);
    CHECK(waiting.take().size() == 4);
  }
  SECTION("but none that is somebody else's") {
    waiting.queue.note_holders(kClient + 1, 0, 2, all);
    waiting.queue.note_holders(kClient + 2, 0, 1, all);
    waiting.queue.note_holders(kClient, 1, 2, all);
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1, kClient + 2});
    CHECK(waiting.take() == std::vector<NodeId>{kClient});
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1});
  }
  CHECK(waiting.queue.empty());
}

TEST_CASE("A body that a third backup comes to have joins another one's batch") {
  ReplicaSettings settings;
  settings.batches_in_flight_max = 1;
  settings.partial_batches_in_flight_max = 1;
  Subject primary(0, settings);
  const auto requests_proposed = [&] {
    std::size_t requests = 0;
    for (const Outgoing& outgoing : primary.actions.sends) {
      const auto batch = decode_pre_prepare(*outgoing.frame, kReplicas);
      if (outgoing.to == 1 && batch) requests += batch->requests.size();
    }
    return requests;
  };
  primary.feed(request(1, "small", false, 0, 9));
  REQUIRE(requests_proposed() == 1);
  const Digest first =
      batch_digest(*decode_pre_prepare(*primary.actions.sends.at(0).frame, kReplicas));
  std::vector<Frame> named;
  for (std::uint32_t number = 0; number < 2; ++number) {
    const BodyTree body = numbered_body(number);
    named.push_back(by_digest(1, body.name(), number));
    primary.feed(named.back());
    deliver(primary, body);
    for (NodeId backup = 1; backup < kReplicas; ++backup) {
      if ((kHolders.at(number) >> backup & 1) != 0) primary.feed(forwarded(backup, named.back()));
    }
  }
  REQUIRE(primary.replica.status().last_proposed == 1);
  primary.feed(forwarded(3, named[0]));
  for (const NodeId backup : {1U, 2U})
    primary.feed(prepare(backup, 1, first));
  for (const NodeId backup : {1U, 2U}) {
    primary.feed(commit(backup, 1, first));
    if (requests_proposed() > 0) break;
  }
  CHECK(requests_proposed() == 2);
}

TEST_CASE("Bodies that the same replicas have share a batch") {
  BatchQueue waiting;
  for (std::uint64_t i = 1; i <= 3; ++i)
    REQUIRE(waiting.add(kClient, i, kHolders[0]));
  CHECK(waiting.take() == std::vector<NodeId>(3, kClient));
}

TEST_CASE("A body that too few have begins a batch, which no other body joins") {
  BatchQueue waiting;
  const std::uint64_t one = std::uint64_t{1} << 1;
  SECTION("before it") {
    REQUIRE(waiting.add(kClient, 1, one));
    REQUIRE(waiting.add(kClient + 1, 1, kHolders[0]));
    CHECK(waiting.take() == std::vector<NodeId>{kClient});
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1});
  }
  SECTION("behind a small request") {
    REQUIRE(waiting.add(kClient + 1, 1, 0));
    REQUIRE(waiting.add(kClient, 1, one));
    CHECK(waiting.take() == std::vector<NodeId>{kClient + 1});
    CHECK(waiting.take() == std::vector<NodeId>{kClient});
  }
  CHECK(waiting.queue.empty());
}

TEST_CASE("A client whose bodies share no batch saves no turns up") {
  BatchQueue waiting;
  waiting.settings.batch_requests_max = 4;
  for (std::uint64_t i = 1; i <= 6; ++i)
    REQUIRE(waiting.add(kClient, i, kHolders.at(i % 2)));
  for (std::uint64_t i = 7; i <= 14; ++i)
    REQUIRE(waiting.add(kClient, i, kHolders[0]));
  for (std::uint64_t i = 1; i <= 40; ++i)
    REQUIRE(waiting.add(kClient + 1, i, 0));
  CHECK(waiting.take() == std::vector<NodeId>{kClient});
  for (std::size_t batches = 0; batches < 9; ++batches) {
    const std::vector<NodeId> batch = waiting.take();
    CHECK(batch.size() == 4);
    CHECK(std::count(batch.begin(), batch.end(), kClient + 1) >= 2);
  }
}

}  // namespace prophecy::pbft::test

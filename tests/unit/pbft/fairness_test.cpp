// What one client, or any few, can take from another: places in the primary's queue, turns, and the
// patience of backups, is bounded.
#include <map>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/patience.hpp"
#include "pbft/core/ordering/request_queue.hpp"
#include "pbft/core/state/payments.hpp"
#include "pbft/whole_group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr NodeId kGreedy = kClient;
constexpr NodeId kOther = kClient + 1;
constexpr NodeId kOneOfTwo = kClient + 2;  // and the one behind; the first has no keys here
constexpr NodeId kThird = kClient + 3;

struct Queue {
  explicit Queue(const ReplicaSettings& given)
      : settings(given), queue(settings, QuorumRule::standard(1)) {}

  bool add(NodeId client, std::uint64_t timestamp, std::size_t size = 10,
           RequestQueue::Place place = RequestQueue::Place::last) {
    const Frame frame = request(timestamp, std::string(size, 'x'));
    auto message = decode_request(*frame, kReplicas);
    message->client = client;
    return queue.add(*message, *frame, sha256(message->content), {}, place, displaced);
  }
  // The clients of the requests in the next batch, and how many each has.
  std::map<NodeId, std::size_t> take() {
    std::map<NodeId, std::size_t> of_client;
    for (const BatchRequest& each : queue.take().requests)
      ++of_client[each.client];
    return of_client;
  }

  ReplicaSettings settings;
  std::vector<RequestQueue::Displaced> displaced;
  RequestQueue queue;
};

ReplicaSettings small_queue() {
  ReplicaSettings settings;
  settings.batch_requests_max = 4;
  settings.queue_requests_max = 40;
  return settings;
}

}  // namespace

TEST_CASE("A client waits for one batch and one turn, however much another asks for") {
  Queue waiting(small_queue());
  for (std::uint64_t i = 1; i <= 20; ++i)
    REQUIRE(waiting.add(kGreedy, i));
  CHECK_FALSE(waiting.add(kGreedy, 21));
  CHECK(waiting.add(kOther, 1));
  CHECK(waiting.add(kOther, 2));
  CHECK(waiting.queue.first_is_full());
  CHECK(waiting.take() == std::map<NodeId, std::size_t>{{kGreedy, 4}});
  CHECK(waiting.take() == std::map<NodeId, std::size_t>{{kGreedy, 2}, {kOther, 2}});
  // A client that comes later begins where the others are.
  CHECK(waiting.add(kOther, 3));
  CHECK(waiting.take() == std::map<NodeId, std::size_t>{{kGreedy, 4}});
  CHECK(waiting.take() == std::map<NodeId, std::size_t>{{kGreedy, 3}, {kOther, 1}});
}

TEST_CASE("Turns are counted in bytes") {
  Queue waiting(small_queue());
  for (std::uint64_t i = 1; i <= 4; ++i)
    REQUIRE(waiting.add(kGreedy, i));
  for (std::uint64_t i = 5; i <= 10; ++i) {
    REQUIRE(waiting.add(kGreedy, i, 10'000));
    REQUIRE(waiting.add(kOther, i, 10));
  }
  (void)waiting.take();
  CHECK(waiting.take() == std::map<NodeId, std::size_t>{{kGreedy, 1}, {kOther, 3}});
}

TEST_CASE("A full queue has room for a client that has less in it than another") {
  Queue waiting(small_queue());
  for (std::uint64_t i = 1; i <= 40; ++i)
    REQUIRE(waiting.add(kOneOfTwo + i % 2, i));
  CHECK(waiting.queue.requests() == 40);
  // Two that flood have everything, until somebody else comes.
  for (std::uint64_t i = 1; i <= 13; ++i) {
    REQUIRE(waiting.add(kOther, i));
    CHECK(waiting.queue.requests() == 40);
    REQUIRE(waiting.displaced.size() == i);
    CHECK(waiting.displaced.back().client != kOther);
  }
  // The last in line of the largest: what is in the first batch stays.
  CHECK(waiting.displaced.front().timestamp >= 39);
  // No more than an equal share.
  CHECK_FALSE(waiting.add(kOther, 14));
  CHECK(waiting.displaced.size() == 13);
  CHECK_FALSE(waiting.add(kOneOfTwo, 41));
  std::map<NodeId, std::size_t> all;
  while (!waiting.queue.empty()) {
    for (const auto& [client, count] : waiting.take())
      all[client] += count;
  }
  CHECK(all[kOther] == 13);
  CHECK(waiting.queue.bytes() == 0);
  CHECK(waiting.queue.requests() == 0);
}

TEST_CASE("Likewise in bytes, and nothing is taken in vain") {
  ReplicaSettings settings;
  settings.batch_bytes_max = 1000;
  settings.queue_bytes_max = 20'000;
  Queue waiting(settings);
  for (std::uint64_t i = 1; waiting.add(kOneOfTwo + i % 2, i, 800); ++i) {
  }
  CHECK(waiting.queue.bytes() > 18'000);
  CHECK(waiting.add(kOther, 1, 3'000));
  const std::size_t displaced = waiting.displaced.size();
  CHECK(displaced > 0);
  CHECK(displaced <= 4);
  CHECK(waiting.queue.bytes() <= 20'000);
  // It would have more than the others.
  CHECK_FALSE(waiting.add(kOther, 2, 6'500));
  CHECK(waiting.displaced.size() == displaced);
  while (!waiting.queue.empty())
    (void)waiting.take();
  CHECK(waiting.queue.bytes() == 0);
}

TEST_CASE("A request that has no room in bytes takes nobody's place") {
  const auto bytes_of = [](std::size_t size) { return request(1, std::string(size, 'x'))->size(); };
  constexpr std::size_t kLarge = 8000;  // more than each of the others has
  const std::size_t lacking = GENERATE(0, 1);
  ReplicaSettings settings = small_queue();
  settings.queue_requests_max = 8;
  settings.queue_bytes_max = 8 * bytes_of(10) + bytes_of(kLarge) - lacking;
  Queue waiting(settings);
  for (std::uint64_t i = 1; i <= 8; ++i)
    REQUIRE(waiting.add(kOneOfTwo + i % 2, i));
  CHECK(waiting.add(kOther, 1, kLarge) == (lacking == 0));
  CHECK(waiting.displaced.size() == 1 - lacking);
}

TEST_CASE("A request that a backup waits for goes first in its client's line, and has room") {
  Queue waiting(small_queue());
  for (std::uint64_t i = 1; i <= 20; ++i)
    REQUIRE(waiting.add(kGreedy, i));
  REQUIRE(waiting.add(kGreedy, 100, 10, RequestQueue::Place::front));
  REQUIRE(waiting.displaced.size() == 1);
  CHECK(waiting.displaced[0].timestamp == 20);
  // All are of one session here, the newest of which is number 100.
  (void)waiting.take();
  CHECK(waiting.queue.take().requests[0].timestamp == 100);
  REQUIRE(waiting.add(kGreedy, 101));
  waiting.queue.bring_forward(kGreedy, 0, 102);
  CHECK(waiting.queue.take().requests[0].timestamp == 8);
  waiting.queue.bring_forward(kGreedy, 0, 101);
  // The next batch is laid out already.
  CHECK(waiting.queue.take().requests[0].timestamp == 12);
  CHECK(waiting.queue.take().requests[0].timestamp == 101);
}

TEST_CASE("A request that a backup waits for has room when its client's share is laid out") {
  ReplicaSettings settings = small_queue();
  settings.batch_requests_max = 8;
  settings.queue_requests_max = 8;
  Queue waiting(settings);
  for (std::uint64_t i = 1; i <= 4; ++i)
    REQUIRE(waiting.add(kGreedy, i));
  for (std::uint64_t i = 5; i <= 8; ++i)
    REQUIRE(waiting.add(kOther, i));
  REQUIRE_FALSE(waiting.add(kGreedy, 9));
  CHECK(waiting.add(kGreedy, 10, 10, RequestQueue::Place::front));
  CHECK(waiting.displaced.empty());
  // One is beyond the room. The next takes its place.
  CHECK(waiting.add(kGreedy, 11, 10, RequestQueue::Place::front));
  REQUIRE(waiting.displaced.size() == 1);
  CHECK(waiting.displaced[0].timestamp == 10);
  CHECK(waiting.queue.requests() == 9);
  CHECK(waiting.take().size() == 2);
  CHECK(waiting.queue.take().requests[0].timestamp == 11);
}

TEST_CASE("Beyond the queue's room are no more than a batch, and one request of each client") {
  ReplicaSettings settings = small_queue();
  settings.queue_requests_max = 8;
  Queue waiting(settings);
  constexpr NodeId kClients = 10;
  std::uint64_t timestamp = 0;
  for (int i = 0; i < 4; ++i)
    REQUIRE(waiting.add(kGreedy, ++timestamp));
  for (NodeId other = 1; other <= 4; ++other)
    REQUIRE(waiting.add(kGreedy + other, ++timestamp));
  REQUIRE(waiting.queue.requests() == 8);
  // The greedy client's share is laid out, and others come that have less.
  for (NodeId other = 5; other < kClients; ++other) {
    for (int i = 0; i < 4; ++i) {
      CHECK(waiting.add(kGreedy, ++timestamp, 10, RequestQueue::Place::front));
      (void)waiting.add(kGreedy + other, ++timestamp);
    }
  }
  CHECK(waiting.queue.requests() <= 8 + 4 + kClients);
  // Each of them has its place all the same, for the sake of a backup.
  for (NodeId other = 5; other < kClients; ++other)
    CHECK(waiting.add(kGreedy + other, ++timestamp, 10, RequestQueue::Place::front));
  CHECK(waiting.queue.requests() <= 8 + 4 + kClients);
}

TEST_CASE("A backup sends its primary the first request of each client, and again in time") {
  Subject backup(1);
  const Duration patience = ReplicaSettings().view_change_timeout;
  std::size_t passed_on = 0;
  for (std::uint32_t session = 0; session < 64; ++session) {
    backup.feed(retransmitted(request(1, "op", false, 0, session, kGreedy)));
    passed_on += backup.sent(MessageType::forward);
  }
  CHECK(passed_on == 1);
  backup.feed(retransmitted(request(1, "op", false, 0, 0, kOther)));
  CHECK(backup.sent(MessageType::forward) == 1);
  backup.tick(patience / 2 - milliseconds(1));
  CHECK(backup.sent(MessageType::forward) == 0);
  backup.tick(milliseconds(1));
  CHECK(backup.sent(MessageType::forward) == 2);
  CHECK(backup.actions.sends[0].to == 0);
  // The next one, as soon as that is ordered.
  backup.order(1, {request(1, "op", false, 0, 0, kGreedy)});
  CHECK(backup.replica.counters().requests_forwarded == 5);
}

TEST_CASE("A client that floods does not use up what its primary checks for a backup") {
  Subject backup(1);
  std::size_t passed_on = 0;
  for (std::uint64_t timestamp = 1; timestamp <= 64; ++timestamp) {
    backup.feed(retransmitted(request(timestamp, "op", false, 0, 0, kGreedy)));
    passed_on += backup.sent(MessageType::forward);
  }
  CHECK(passed_on == 16);
  backup.feed(retransmitted(request(1, "op", false, 0, 0, kOther)));
  CHECK(backup.sent(MessageType::forward) == 1);
}

TEST_CASE("Requests that a backup may not send its primary yet are held against nobody") {
  WholeGroup group;
  constexpr std::uint32_t kBurst = 64;
  for (std::uint32_t burst = 0; burst < 3; ++burst) {
    group.at(TimePoint{} + milliseconds(100 + 50 * burst), [&group, burst] {
      for (std::uint32_t session = burst * kBurst; session < (burst + 1) * kBurst; ++session) {
        const Frame frame = retransmitted(request(1, "op", false, 0, session));
        group.send(1, frame);
        group.send(2, frame);
      }
    });
  }
  group.run_until(TimePoint{} + seconds(5), [&] { return group.all_executed(3 * kBurst); });
  CHECK(group.all_executed(3 * kBurst));
  CHECK(group.view_changes() == 0);
}

TEST_CASE("Clients that wait at a backup share what it may send its primary") {
  Subject backup(1);
  // Both floods come before the third client's request, whose id is the greatest.
  constexpr std::uint32_t kMany = 40;
  const auto passed_on_of = [&](NodeId client) {
    std::size_t count = 0;
    for (const Outgoing& outgoing : backup.actions.sends) {
      const auto forward = decode_forward(*outgoing.frame);
      if (forward && decode_request(forward->request, kReplicas)->client == client) ++count;
    }
    return count;
  };
  std::size_t of_greedy = 0;
  for (std::uint64_t timestamp = 1; timestamp <= kMany; ++timestamp) {
    backup.feed(retransmitted(request(timestamp, "op", false, 0, 0, kGreedy)));
    of_greedy += passed_on_of(kGreedy);
  }
  CHECK(of_greedy == 16);
  std::size_t of_other = 0;
  for (std::uint64_t timestamp = 1; timestamp <= kMany; ++timestamp) {
    backup.feed(retransmitted(request(timestamp, "op", false, 0, 0, kOther)));
    of_other += passed_on_of(kOther);
  }
  CHECK(of_other == 16);
  // What was held back goes out when the interval ends, and not later.
  backup.tick(Payments::kInterval);
  CHECK(passed_on_of(kGreedy) == 1);
  CHECK(passed_on_of(kOther) == 1);
}

TEST_CASE("Signed requests by digest are passed on at the same rate as others") {
  Subject backup(1);
  constexpr std::uint32_t kMany = 40;
  std::size_t passed_on = 0;
  for (std::uint32_t session = 0; session < kMany; ++session) {
    const BodyTree body(bytes_of_size(100 + session), 4096);
    backup.feed(retransmitted(by_digest(1, body.name(), session)));
    std::size_t sent = backup.sent(MessageType::forward);
    deliver(backup, body);
    sent += backup.sent(MessageType::forward);
    passed_on += sent / (kReplicas - 1);
  }
  CHECK(backup.replica.counters().bodies_fetched == kMany);
  CHECK(passed_on == 16);
  backup.feed(retransmitted(request(1, "op", false, 0, 0, kOther)));
  CHECK(backup.sent(MessageType::forward) == 1);
  for (int interval = 0; interval < 2; ++interval) {
    backup.tick(Payments::kInterval);
    passed_on += backup.sent(MessageType::forward) / (kReplicas - 1);
  }
  CHECK(passed_on == kMany);
}

TEST_CASE("A primary takes a displaced request again") {
  ReplicaSettings settings = small_queue();
  settings.queue_requests_max = 8;
  settings.partial_batches_in_flight_max = 1;
  settings.batches_in_flight_max = 1;
  Subject primary(0, settings);
  const auto ask = [&](NodeId client, std::uint32_t session) {
    const std::uint64_t before = primary.dropped(DropReason::duplicate);
    primary.feed(request(1, "op", false, 0, session, client));
    return primary.dropped(DropReason::duplicate) == before;
  };
  // One batch is on its way, the queue holds one more and four that wait.
  for (std::uint32_t session = 0; session < 5; ++session)
    REQUIRE(ask(kGreedy, session));
  for (std::uint32_t session = 0; session < 4; ++session)
    REQUIRE(ask(kOther, session));
  CHECK(primary.replica.status().queued_requests == 8);
  CHECK(primary.dropped(DropReason::queue_full) == 0);
  CHECK_FALSE(ask(kOther, 3));
  // A third takes the place of the last that waits.
  REQUIRE(ask(kThird, 0));
  CHECK(primary.replica.status().queued_requests == 8);
  CHECK(primary.dropped(DropReason::queue_full) == 1);
  CHECK_FALSE(ask(kOther, 2));
  CHECK(ask(kOther, 3));
}

namespace {

// A backup's requests, by client and session.
struct Held {
  void note(NodeId client, std::uint32_t session, std::int64_t ms, std::uint64_t ordered = 0) {
    const Frame frame = request(1, "op", false, 0, session, client);
    patience.note(*decode_request(*frame, kReplicas), *frame, TimePoint{} + milliseconds(ms),
                  ordered);
  }
  void send(NodeId client, std::int64_t ms) {
    patience.note_sent(client, TimePoint{} + milliseconds(ms), TimePoint::max());
  }
  void order(NodeId client, std::uint32_t session) {
    clients.session(client, session).last_timestamp = 1;
  }
  std::int64_t since(std::int64_t now_ms, std::uint64_t ordered = 0, bool is_busy = false) {
    return since(now_ms, ordered, is_busy ? Patience::Excuse::busy : Patience::Excuse::none);
  }
  std::int64_t since(std::int64_t now_ms, std::uint64_t ordered, Patience::Excuse excuse) {
    patience.excuse(excuse, TimePoint{} + milliseconds(now_ms), ordered, 0);
    const auto oldest = patience.oldest(TimePoint{} + milliseconds(now_ms), ordered);
    if (!oldest.since) return -1;
    late_since = oldest.late_since;
    return std::chrono::duration_cast<milliseconds>(oldest.since->time_since_epoch()).count();
  }

  ClientTable clients{1000};
  Patience patience{ReplicaSettings{}, clients};
  std::optional<TimePoint> late_since;
};

}  // namespace

TEST_CASE("A request that waits behind others of its client is held against nobody") {
  Held held;
  held.note(kGreedy, 0, 10);
  held.note(kGreedy, 1, 20);
  held.note(kOther, 0, 30);
  CHECK(held.since(100) == 10);
  held.order(kGreedy, 0);
  // The next in line begins to wait now, so that the other client's has waited for longer.
  CHECK(held.since(100) == 30);
  held.order(kOther, 0);
  CHECK(held.since(200) == 100);
  // That it came long ago counts only for how slow the primary is, once that has been sent it.
  CHECK_FALSE(held.late_since);
  held.send(kGreedy, 200);
  CHECK(held.since(200) == 100);
  CHECK(held.late_since == TimePoint{} + milliseconds(180));
  held.send(kGreedy, 300);
  CHECK(held.since(300) == 100);
  CHECK(held.late_since == TimePoint{} + milliseconds(180));
  held.patience.make_due();
  CHECK(held.since(300) == 100);
  CHECK_FALSE(held.late_since);
  held.order(kGreedy, 1);
  CHECK(held.since(300) == -1);
}

TEST_CASE("A request that is left out comes to be the first in its line") {
  Held held;
  for (std::uint32_t session = 0; session < 10; ++session)
    held.note(kGreedy, session, session);
  for (std::uint32_t session = 1; session < 10; ++session) {
    held.order(kGreedy, session);
    CHECK(held.since(100 + session) == 0);
  }
}

TEST_CASE("While the service is busy, only a client counts that is passed over") {
  Held held;
  held.note(kGreedy, 0, 10);
  held.note(kGreedy, 1, 10);
  held.note(kOther, 0, 20);
  CHECK(held.since(100, 31, true) == -1);
  held.order(kGreedy, 0);
  CHECK(held.since(100, 31, true) == -1);
  CHECK(held.since(110, 32, true) == 20);
  // The other one's turn has begun with batch 31.
  CHECK(held.since(110, 32, false) == 20);
  held.order(kOther, 0);
  CHECK(held.since(120, 62, true) == -1);
  CHECK(held.since(120, 63, true) == 110);
}

TEST_CASE(
    "While this replica lacks what others have executed, nothing counts, and no time passes") {
  using Excuse = Patience::Excuse;
  Held held;
  held.note(kGreedy, 0, 10);
  CHECK(held.since(50, 1) == 10);
  CHECK(held.since(60, 1, Excuse::behind) == -1);
  // However many batches it has missed.
  CHECK(held.since(100, 80, Excuse::behind) == -1);
  CHECK(held.since(150, 90, Excuse::none) == 100);
  CHECK(held.since(160, 90, Excuse::busy) == -1);
  CHECK(held.since(170, 121, Excuse::busy) == 100);
  // What had been ordered meanwhile has not waited.
  CHECK(held.since(200, 122, Excuse::behind) == -1);
  held.order(kGreedy, 0);
  CHECK(held.since(250, 200, Excuse::none) == -1);
}

TEST_CASE("One request of each client always has a place with a backup") {
  ReplicaSettings settings;
  settings.queue_bytes_max = 2000;
  ClientTable clients(1000);
  Patience patience(settings, clients);
  const auto note = [&](NodeId client, std::uint32_t session) {
    const Frame frame = request(1, std::string(600, 'x'), false, 0, session, client);
    patience.note(*decode_request(*frame, kReplicas), *frame, {}, 0);
    return patience.frames().size();
  };
  CHECK(note(kGreedy, 0) == 1);
  CHECK(note(kGreedy, 1) == 1);  // half of the room is another client's
  CHECK(note(kOther, 0) == 2);
}

TEST_CASE("What is kept of a client's results is not taken by another's") {
  ClientTable table(100);
  const auto keep = [&](NodeId client, std::uint32_t session, std::size_t size) {
    Session& entry = table.session(client, session);
    table.begin(entry, entry.last_timestamp + 1);
    return table.keep_result(entry, Bytes(size));
  };
  CHECK(keep(kOther, 0, 20) == 0);
  for (std::uint32_t session = 0; session < 10; ++session)
    keep(kGreedy, session, 30);
  CHECK(table.session(kOther, 0).has_result);
  CHECK(table.result_bytes() == 80);
  CHECK(table.session(kGreedy, 9).has_result);
  CHECK_FALSE(table.session(kGreedy, 7).has_result);
}

TEST_CASE("Signatures are demanded for longer each time, and as before after as long a calm") {
  ClientTable table(100);
  TimePoint now{};
  const auto demanded = [&] {
    table.note_wrong_mac(kClient, 0, now);
    table.note_wrong_mac(kClient, 1, now);
    Duration length{};
    while (table.demands_signature(kClient, now + length))
      length += seconds(1);
    now += length;
    return length;
  };
  CHECK(demanded() == seconds(10));
  CHECK(demanded() == seconds(20));
  CHECK(demanded() == seconds(40));
  now += seconds(39);
  CHECK(demanded() == seconds(80));
  now += seconds(80);
  CHECK(demanded() == seconds(10));
}

TEST_CASE("One primary alone does not bring it on a client that it has to sign") {
  ClientTable table(100);
  TimePoint now{};
  for (int i = 0; i < 100; ++i) {
    table.note_wrong_mac(kClient, 0, now);
    CHECK_FALSE(table.demands_signature(kClient, now));
    now += seconds(5);
  }
  // Another one's batch, long after.
  now += minutes(10);
  table.note_wrong_mac(kClient, 1, now);
  CHECK_FALSE(table.demands_signature(kClient, now));
  table.note_wrong_mac(kClient, 0, now);
  CHECK(table.demands_signature(kClient, now));
}

}  // namespace prophecy::pbft::test

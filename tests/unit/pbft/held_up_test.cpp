// A primary that may propose nothing before a checkpoint is stable, and one that makes use of that.
#include <algorithm>

#include <catch2/catch.hpp>

#include "pbft/bodies/body_frames.hpp"
#include "pbft/core/ordering/patience.hpp"
#include "pbft/whole_group.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr NodeId kFilling = kClient + 1;

// Each of the other client's requests fills the log.
ReplicaSettings one_request_to_a_log() {
  ReplicaSettings settings;
  settings.checkpoint_bytes = 256;
  settings.log_bytes_max = 512;
  return settings;
}

bool is_request_of(ByteView frame, NodeId client) {
  if (const auto request = decode_request(frame, kReplicas)) return request->client == client;
  const auto forward = decode_forward(frame);
  return forward && is_request_of(forward->request, client);
}

struct Waiting {
  Waiting() {
    const Frame frame = request(1);
    patience.note(*decode_request(*frame, kReplicas), *frame, TimePoint{}, 0);
  }
  // So many more clients wait.
  void join(std::uint32_t many) {
    const Frame frame = request(1);
    RequestMessage message = *decode_request(*frame, kReplicas);
    for (std::uint32_t i = 0; i < many; ++i) {
      ++message.client;
      patience.note(message, *frame, TimePoint{}, 0);
    }
  }
  // Milliseconds for which one counts as having waited.
  std::int64_t waited(std::int64_t now_ms, Patience::Excuse excuse) {
    const TimePoint now = TimePoint{} + milliseconds(now_ms);
    // What frees a log is a checkpoint that becomes stable.
    if (excuse == Patience::Excuse::none) ++stable;
    patience.excuse(excuse, now, 0, stable);
    const auto since = patience.oldest(now, 0).since;
    REQUIRE(since.has_value());
    return std::chrono::duration_cast<milliseconds>(now - *since).count();
  }

  std::uint64_t stable = 0;
  ClientTable clients{1000};
  Patience patience{ReplicaSettings{}, clients};
};

}  // namespace

TEST_CASE("Time in which a log is full does not count, and other time adds up in the end") {
  Waiting request;
  const std::uint32_t others = GENERATE(0u, 15u, 24u);
  request.join(others);
  // A fair primary may serve one client alone with each log.
  const int most = std::max(16, static_cast<int>(others) + 1);
  std::int64_t now = 0;
  const auto fill_the_log = [&] {
    CHECK(request.waited(now, Patience::Excuse::held_up) == 0);
    now += 900;
    CHECK(request.waited(now, Patience::Excuse::held_up) == 0);
    const std::int64_t before = request.waited(now, Patience::Excuse::none);
    now += 100;
    CHECK(request.waited(now, Patience::Excuse::none) == before + 100);
    return before + 100;
  };
  for (int i = 0; i < most; ++i)
    CHECK(fill_the_log() == 100);
  for (int i = 2; i < 10; ++i)
    CHECK(fill_the_log() == 100 * i);
  // For another primary, all begin anew.
  request.patience.restart(TimePoint{} + milliseconds(now), 0);
  for (int i = 0; i < most; ++i)
    CHECK(fill_the_log() == 100);
}

TEST_CASE("A replica that lags for a moment, again and again, counts one full log once") {
  Waiting request;
  std::int64_t now = 0;
  for (int i = 0; i < 20; ++i) {
    (void)request.waited(now += 10, Patience::Excuse::held_up);
    request.patience.excuse(Patience::Excuse::behind, TimePoint{} + milliseconds(now += 10), 0,
                            request.stable);
  }
  for (int i = 0; i < 16; ++i) {
    (void)request.waited(now += 10, Patience::Excuse::held_up);
    (void)request.waited(now += 10, Patience::Excuse::none);
    CHECK(request.waited(now += 100, Patience::Excuse::none) == 100);
  }
}

TEST_CASE("Clients that are served while the log is full again and again take nobody's time") {
  constexpr std::uint32_t kOthers = 60;
  Waiting request;
  request.join(kOthers);
  std::int64_t now = 0;
  std::int64_t longest = 0;
  // One of them with each log, and the one that waited first is the last.
  for (std::uint32_t i = kOthers; i > 0; --i) {
    (void)request.waited(now += 100, Patience::Excuse::held_up);
    request.clients.session(kClient + i, 0).last_timestamp = 1;
    longest = std::max(longest, request.waited(now += 100, Patience::Excuse::none));
    longest = std::max(longest, request.waited(now += 100, Patience::Excuse::none));
  }
  CHECK(longest == 100);
}

TEST_CASE("A client whose last request filled logs by itself waits for as much of another's") {
  const std::uint64_t logs = GENERATE(0u, 15u, 39u);
  Waiting request;
  const auto ask = [&](std::uint64_t timestamp, std::uint64_t bytes) {
    const Frame frame = pbft::test::request(timestamp);
    RequestMessage message = *decode_request(*frame, kReplicas);
    message.body = BodyName{bytes, {}};
    request.patience.note(message, *frame, TimePoint{}, 0);
  };
  ask(2, logs * ReplicaSettings{}.checkpoint_bytes);
  request.clients.session(kClient, 0).last_timestamp = 2;
  CHECK_FALSE(request.patience.oldest(TimePoint{}, 0).since.has_value());
  ask(3, 100);
  std::int64_t now = 0;
  int times = 0;
  for (std::int64_t waited = 100; waited == 100; ++times) {
    REQUIRE(times < 100);
    (void)request.waited(now += 100, Patience::Excuse::held_up);
    (void)request.waited(now += 100, Patience::Excuse::none);
    waited = request.waited(now += 100, Patience::Excuse::none);
  }
  CHECK(times == (logs == 39 ? 41 : 17));
}

TEST_CASE("A primary that fills its log at once each time cannot leave a client out for ever") {
  WholeGroup group(one_request_to_a_log());
  const bool is_censor = GENERATE(true, false);
  group.lose([&](NodeId to, ByteView frame) {
    return is_censor && to == 0 && is_request_of(frame, kClient);
  });
  std::uint64_t timestamp = 0;
  std::function<void()> fill = [&] {
    ++timestamp;
    for (NodeId to = 0; to < kReplicas; ++to)
      group.send(to, request(timestamp, std::string(600, 'x'), false, 0, 0, kFilling));
    group.at(group.now() + milliseconds(5), fill);
  };
  group.at(TimePoint{}, fill);
  bool is_answered = false;
  group.on_client([&](NodeId, const Outgoing& outgoing) {
    const auto reply = decode_reply(*outgoing.frame);
    is_answered = is_answered || (reply && reply->client == kClient);
  });
  group.at(TimePoint{} + milliseconds(100), [&] {
    for (NodeId to = 0; to < kReplicas; ++to)
      group.send(to, retransmitted(request(1, "left out")));
  });
  CHECK(group.run_until(TimePoint{} + seconds(10), [&] { return is_answered; }));
  CHECK((group.view_changes() > 0) == is_censor);
  group.run_until(group.now() + seconds(1));
  CHECK(group.executed(1) > 150);
}

// The log counts a body with the size that its name says, whether it comes or not.
TEST_CASE("A primary whose batches wait for bodies that do not come is not held up by a full log") {
  Subject backup(1, one_request_to_a_log());
  const std::uint64_t bytes = GENERATE(100u, 600u);
  const BodyName absent{bytes, sha256(as_bytes("no body"))};
  backup.feed(pre_prepare(1, {by_digest(1, absent)}).frame);
  backup.feed(retransmitted(request(1, "left out", false, 0, 0, kFilling)));
  for (int i = 0; i < 200 && backup.replica.view() == 0; ++i)
    backup.tick(milliseconds(50));
  CHECK(backup.replica.view() == 1);
}

}  // namespace prophecy::pbft::test

// Bodies of megabytes in a whole group: how long they take, and what a client that serves some
// replicas alone can do to the others.
#include <catch2/catch.hpp>

#include "pbft/whole_group.hpp"
#include "pbft/wire/body.hpp"
#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft::test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

BodyTree body_of(std::uint64_t size) {
  auto bytes = std::make_shared<Bytes>(size);
  for (std::size_t i = 0; i < size; i += 4096)
    (*bytes)[i] = static_cast<std::uint8_t>(i >> 12 ^ i >> 20);
  for (std::size_t i = 0; i + 8 < size; i += 128 * 1024)
    (*bytes)[i + 1] = static_cast<std::uint8_t>(i >> 17);
  return {std::move(bytes), kBodyLeafBytesMax};
}

// A client that hands out the parts of one body to some replicas.
struct Served {
  Served(WholeGroup& group, std::uint64_t size, std::uint64_t replicas) : body(body_of(size)) {
    group.on_client([this, &group, replicas](NodeId from, const Outgoing& outgoing) {
      const auto asked = decode_fetch_parts(*outgoing.frame);
      if (!asked || (replicas >> from & 1) == 0) return;
      for (const Digest& digest : asked->parts) {
        const auto part = body.part(digest);
        if (part) group.send(from, encode_part_message(*part, ring(kClient)));
      }
    });
  }
  [[nodiscard]] Frame request() const {
    return finish_request(begin_request(body.name(), kReplicas), 0, 1, false, 0, ring(kClient));
  }
  BodyTree body;
};

// One small request each 20 ms; the longest time in which none was executed anywhere.
struct Others {
  explicit Others(WholeGroup& all) : group(all) { send(); }
  void send() {
    const std::uint64_t sum = group.executed(1);
    if (sum != executed) {
      longest = std::max(longest, group.now() - moved_at);
      moved_at = group.now();
      executed = sum;
    }
    const Frame frame = test::request(++timestamp, "op", false, 0, kAnotherSession);
    for (NodeId to = 0; to < kReplicas; ++to)
      group.send(to, frame);
    group.at(group.now() + milliseconds(20), [this] { send(); });
  }
  [[nodiscard]] Duration longest_wait() const { return std::max(longest, group.now() - moved_at); }
  WholeGroup& group;
  std::uint64_t timestamp = 0;
  std::uint64_t executed = 0;
  TimePoint moved_at{};
  Duration longest{};
};

}  // namespace

TEST_CASE("A body that its client serves to the primary alone holds up nobody") {
  WholeGroup group;
  Served served(group, 8 * kMiB, 1);
  Others others(group);
  group.at(TimePoint{} + milliseconds(100), [&] { group.send(0, served.request()); });
  group.run_until(TimePoint{} + seconds(5));
  CHECK(group.replica(0).counters().bodies_fetched == 1);
  CHECK(others.longest_wait() < milliseconds(100));
  CHECK(group.view_changes() == 0);
}

TEST_CASE("A signed request of which one replica has the body comes to the others from there") {
  const NodeId holder = GENERATE(0, 2);
  WholeGroup group;
  Served served(group, 8 * kMiB, std::uint64_t{1} << holder);
  Others others(group);
  bool is_whole = false;
  group.at(TimePoint{} + milliseconds(100),
           [&] { group.send(holder, retransmitted(served.request())); });
  group.run_until(TimePoint{} + seconds(5), [&] {
    is_whole = true;
    for (NodeId node = 0; node < kReplicas; ++node)
      is_whole = is_whole && group.replica(node).counters().bodies_fetched == 1;
    return is_whole;
  });
  CHECK(is_whole);
  group.run_until(group.now() + seconds(1));
  CHECK(others.longest_wait() < milliseconds(100));
  CHECK(group.view_changes() == 0);
}

TEST_CASE("A body that one replica lacks comes at the rate at which others serve it") {
  const std::uint64_t size = GENERATE(8 * kMiB, 24 * kMiB);
  WholeGroup group;
  Served served(group, size, 7);
  group.at(TimePoint{} + milliseconds(1), [&] {
    for (NodeId to = 0; to < 3; ++to)
      group.send(to, served.request());
  });
  const bool came = group.run_until(
      TimePoint{} + seconds(20), [&] { return group.replica(3).counters().bodies_fetched == 1; });
  CHECK(came);
  const auto took = std::chrono::duration_cast<milliseconds>(group.now().time_since_epoch());
  INFO(size / kMiB << " MiB took " << took.count() << " ms");
  // The client is asked first, for 200 ms.
  CHECK(took <=
        milliseconds(220) + milliseconds(50) * static_cast<std::int64_t>(size / (4 * kMiB)));
  CHECK(group.view_changes() == 0);
}

TEST_CASE("Two operations under one timestamp, each of which half of the group has, harm nobody") {
  const bool all_signed = GENERATE(true, false);
  WholeGroup group;
  Served first(group, 300'000, 15);
  Served second(group, 400'000, 15);
  group.on_client([&](NodeId from, const Outgoing& outgoing) {
    const auto asked = decode_fetch_parts(*outgoing.frame);
    if (!asked) return;
    const Served& served = from % 3 == 0 ? first : second;
    for (const Digest& digest : asked->parts) {
      const auto part = served.body.part(digest);
      if (part) group.send(from, encode_part_message(*part, ring(kClient)));
    }
  });
  Others others(group);
  group.at(TimePoint{} + milliseconds(100), [&] {
    for (NodeId to = 0; to < kReplicas; ++to) {
      const Frame request = to % 3 == 0 ? first.request() : second.request();
      group.send(to, to % 3 != 0 || all_signed ? retransmitted(request) : request);
    }
  });
  group.run_until(TimePoint{} + seconds(5));
  CHECK(others.longest_wait() < milliseconds(100));
  CHECK(group.view_changes() == 0);
}

TEST_CASE("Two bodies of which each replica has room for one are ordered one after the other") {
  ReplicaSettings settings;
  settings.queue_bytes_max = kFrameBytesMax;
  WholeGroup group(settings);
  Served first(group, 12 * kMiB, 15);
  Served second(group, 13 * kMiB, 15);
  group.on_client([&](NodeId from, const Outgoing& outgoing) {
    const auto asked = decode_fetch_parts(*outgoing.frame);
    if (!asked) return;
    for (const Digest& digest : asked->parts) {
      auto part = first.body.part(digest);
      if (!part) part = second.body.part(digest);
      if (part) group.send(from, encode_part_message(*part, ring(kClient)));
    }
  });
  const auto request = [&](const Served& served, std::uint32_t session) {
    return retransmitted(finish_request(begin_request(served.body.name(), kReplicas), session, 1,
                                        false, 0, ring(kClient)));
  };
  // In two orders; then to all again, as clients do.
  group.at(TimePoint{} + milliseconds(10), [&] {
    for (NodeId to = 0; to < kReplicas; ++to) {
      group.send(to, to < 2 ? request(first, 0) : request(second, 1));
      group.send(to, to < 2 ? request(second, 1) : request(first, 0));
    }
  });
  for (int i = 1; i < 6; ++i) {
    group.at(TimePoint{} + seconds(i), [&] {
      for (NodeId to = 0; to < kReplicas; ++to) {
        group.send(to, request(first, 0));
        group.send(to, request(second, 1));
      }
    });
  }
  CHECK(group.run_until(TimePoint{} + seconds(8), [&] { return group.all_executed(2); }));
  CHECK(group.view_changes() == 0);
}

}  // namespace prophecy::pbft::test

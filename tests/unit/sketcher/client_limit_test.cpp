#include "sketcher/core/admission/client_limit.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Verdict = ClientLimit::Verdict;

constexpr std::uint32_t kWorkers = 2;
constexpr std::uint64_t kSeed = 7;

// Memory of two workers, zero at first.
struct Memory {
  std::vector<ClientLimitSlots::PaidUntil> paid =
      std::vector<ClientLimitSlots::PaidUntil>(ClientLimit::kSlots);
  std::vector<ClientLimitSlots::InFlight> flying =
      std::vector<ClientLimitSlots::InFlight>(kWorkers * ClientLimit::kSlots);
  [[nodiscard]] ClientLimitSlots slots() { return {paid, flying}; }
  [[nodiscard]] ClientLimit of(const ClientLimitSettings& settings, std::uint32_t worker) {
    return {settings, slots(), worker, 64, kSeed};
  }
};

std::optional<IpAddress> at(const char* address) {
  return IpAddress::parse(address);
}

using test::kStart;

AddressRanges ranges(const char* text) {
  return {*AddressRange::parse(text)};
}

}  // namespace

TEST_CASE("A client has its requests a second, of all workers together, and a burst") {
  ClientLimitSettings settings;
  settings.per_second = 10;
  settings.burst = 3;
  Memory memory;
  ClientLimit one = memory.of(settings, 0);
  ClientLimit other = memory.of(settings, 1);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(other.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  const auto refused = other.take(at("192.0.2.1"), {}, kStart);
  CHECK(refused.verdict == Verdict::too_often);
  CHECK(refused.retry_after_s == 1);
  // Another client is not concerned, and the one has its next after a tenth of a second.
  CHECK(one.take(at("192.0.2.2"), {}, kStart).verdict == Verdict::granted);
  CHECK(one.take(at("192.0.2.1"), {}, kStart + milliseconds(99)).verdict == Verdict::too_often);
  CHECK(one.take(at("192.0.2.1"), {}, kStart + milliseconds(101)).verdict == Verdict::granted);
  CHECK(one.take(at("192.0.2.1"), {}, kStart + milliseconds(102)).verdict == Verdict::too_often);
}

TEST_CASE("Retry-After is when the next request may come") {
  ClientLimitSettings settings;
  settings.per_second = 0.1;
  settings.burst = 1;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart + milliseconds(500)).retry_after_s == 10);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart + seconds(10)).verdict == Verdict::granted);
}

TEST_CASE("A network of IPv6 is one client") {
  ClientLimitSettings settings;
  settings.per_second = 1;
  settings.burst = 1;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  CHECK(limit.take(at("2001:db8::1"), {}, kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("2001:db8::ffff:1"), {}, kStart).verdict == Verdict::too_often);
  CHECK(limit.take(at("2001:db8:0:1::1"), {}, kStart).verdict == Verdict::granted);
}

TEST_CASE("Requests in flight count over workers, and those of one that died do not") {
  ClientLimitSettings settings;
  settings.in_flight = 2;
  Memory memory;
  ClientLimit one = memory.of(settings, 0);
  ClientLimit other = memory.of(settings, 1);
  const auto first = one.take(at("192.0.2.1"), {}, kStart);
  REQUIRE(first.held);
  CHECK(other.take(at("192.0.2.1"), {}, kStart).held);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::too_many);
  one.give_back(*first.held);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::too_many);
  static_cast<void>(memory.of(settings, 1));  // a replacement
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  // What the former worker gives back late makes no room.
  other.give_back(*first.held);
  CHECK(one.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::too_many);
}

TEST_CASE("A field may name the client, and requests without it count by address") {
  ClientLimitSettings settings;
  settings.field = "x-api-key";
  settings.per_second = 1;
  settings.burst = 1;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  CHECK(limit.take(at("192.0.2.1"), "key", kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("192.0.2.9"), "key", kStart).verdict == Verdict::too_often);
  CHECK(limit.take(at("192.0.2.1"), "other", kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::too_often);
}

TEST_CASE("A request that looks for its way again does not pay again, and keeps its place") {
  ClientLimitSettings settings;
  settings.per_second = 1;
  settings.burst = 2;
  settings.in_flight = 1;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  LimitedRequest waiting;
  LimitedRequest other;
  for (int i = 0; i < 20; ++i)
    CHECK(waiting.take(limit, at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(other.take(limit, at("192.0.2.1"), {}, kStart).verdict == Verdict::too_many);
  CHECK_FALSE(other.has_asked());
  waiting.end();
  CHECK(other.take(limit, at("192.0.2.1"), {}, kStart).verdict == Verdict::granted);
  other.end();
  other.end();
  CHECK(other.take(limit, at("192.0.2.1"), {}, kStart).verdict == Verdict::too_often);
}

TEST_CASE("One client, or some, take no other's bounds, and have no more than their own") {
  ClientLimitSettings settings;
  settings.per_second = 1;
  settings.burst = 2;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  // A twentieth of a row's slots: of one row, that many would refuse a twentieth of the others.
  const auto address = [](unsigned net, unsigned i) {
    return IpAddress::parse("10." + std::to_string(net) + "." + std::to_string(i / 250) + "." +
                            std::to_string(1 + i % 250));
  };
  unsigned granted = 0;
  for (unsigned i = 0; i < ClientLimit::kRowSlots / 20; ++i) {
    for (int round = 0; round < 4; ++round)
      granted += limit.take(address(1, i), {}, kStart).verdict == Verdict::granted ? 1 : 0;
  }
  CHECK(granted <= 2 * (ClientLimit::kRowSlots / 20));
  unsigned refused = 0;
  for (unsigned i = 0; i < 2000; ++i)
    refused += limit.take(address(2, i), {}, kStart).verdict != Verdict::granted ? 1 : 0;
  CHECK(refused < 40);
}

TEST_CASE("Values that a client invents fill no slots of addresses") {
  ClientLimitSettings settings;
  settings.field = "x-api-key";
  settings.per_second = 1;
  settings.burst = 1;
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  for (unsigned i = 0; i < 20 * ClientLimit::kRowSlots; ++i)
    static_cast<void>(limit.take(at("192.0.2.1"), std::to_string(i), kStart));
  for (const char* address : {"192.0.2.1", "192.0.2.2", "198.51.100.7", "2001:db8::1"})
    CHECK(limit.take(at(address), {}, kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::too_often);
}

TEST_CASE("Lists of addresses decide before any count") {
  ClientLimitSettings settings;
  settings.per_second = 1;
  settings.burst = 1;
  settings.allowed = ranges("10.0.0.0/8");
  settings.denied = ranges("10.1.0.0/16");
  settings.unlimited = ranges("10.2.0.0/16");
  Memory memory;
  ClientLimit limit = memory.of(settings, 0);
  CHECK(limit.take(at("192.0.2.1"), {}, kStart).verdict == Verdict::denied);
  CHECK(limit.take(at("10.1.0.1"), {}, kStart).verdict == Verdict::denied);
  CHECK(limit.take(std::nullopt, {}, kStart).verdict == Verdict::denied);
  CHECK(limit.take(at("10.0.0.1"), {}, kStart).verdict == Verdict::granted);
  CHECK(limit.take(at("10.0.0.1"), {}, kStart).verdict == Verdict::too_often);
  for (int i = 0; i < 3; ++i)
    CHECK(limit.take(at("10.2.0.1"), {}, kStart).verdict == Verdict::granted);
}

}  // namespace prophecy::sketcher

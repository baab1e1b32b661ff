#include "dht/core/lease.hpp"

#include <catch2/catch.hpp>

namespace prophecy::dht {
namespace {

using std::chrono::seconds;

constexpr Span kLength = seconds(4);

// Of view 1, and renewed once.
struct LeaseUnderTest {
  LeaseUnderTest() {
    see_view(1);
    lease.on_read(std::nullopt, 0);
    REQUIRE(lease.renew(1, now));
    REQUIRE(lease.on_result({.number = 1, .status = CoordinationStatus::done}, now).end);
    now += kLength / 4;
    REQUIRE(lease.renew(2, now));
  }
  void see_view(ViewNumber view) {
    lease.set_target("/view", static_cast<NodeVersion>(view), view, true, true);
  }
  // The write under way is refused since its view is an old one; then the node is read.
  void refuse() {
    const CoordinationResult refused{
        .number = 2, .status = CoordinationStatus::wrong_version, .failed_step = 0};
    CHECK(lease.on_result(refused, now).is_view_old);
    REQUIRE(lease.wants_reading());
    lease.on_read(lease.written(), 0);
  }

  BootTime now{seconds(100)};
  Lease lease{"/leases/a", 7, kLength};
};

}  // namespace

TEST_CASE("A newer view that came while a renewal was under way is confirmed at once") {
  LeaseUnderTest test;
  test.see_view(2);
  test.refuse();
  const auto call = test.lease.renew(3, test.now);
  REQUIRE(call);
  CHECK(call->steps.at(0).version == 2);
}

TEST_CASE("A renewal that fails is tried again after a pause, or once a newer view is seen") {
  LeaseUnderTest test;
  test.refuse();
  CHECK_FALSE(test.lease.renew(3, test.now));
  SECTION("after a pause") {
    CHECK(test.lease.deadline() == test.now + kLength / 16);
    CHECK(test.lease.renew(3, test.now + kLength / 16));
  }
  SECTION("a newer view") {
    test.see_view(2);
    CHECK(test.lease.renew(3, test.now));
  }
}

}  // namespace prophecy::dht

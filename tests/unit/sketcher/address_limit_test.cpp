#include "sketcher/core/admission/address_limit.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

IpAddress parsed(const std::string& text) {
  return IpAddress::parse(text).value();
}

}  // namespace

TEST_CASE("An address gets no more than its share, and others theirs") {
  AddressLimit limit(2, 64);
  CHECK(limit.take(parsed("192.0.2.1")));
  CHECK(limit.take(parsed("192.0.2.1")));
  CHECK_FALSE(limit.take(parsed("192.0.2.1")));
  CHECK(limit.take(parsed("192.0.2.2")));
  CHECK(limit.take(parsed("2001:db8::1")));
  limit.give_back(parsed("192.0.2.1"));
  CHECK(limit.take(parsed("192.0.2.1")));
  CHECK_FALSE(limit.take(parsed("192.0.2.1")));
}

TEST_CASE("An address without a connection is forgotten") {
  AddressLimit limit(1, 64);
  for (int i = 0; i < 3; ++i) {
    CHECK(limit.take(parsed("192.0.2.1")));
    CHECK_FALSE(limit.take(parsed("192.0.2.1")));
    CHECK(limit.clients() == 1);
    limit.give_back(parsed("192.0.2.1"));
    CHECK(limit.clients() == 0);
  }
}

TEST_CASE("All addresses of a network of IPv6 are one client") {
  AddressLimit limit(3, 64);
  for (const char* address : {"2001:db8:0:1::1", "2001:db8:0:1:ffff::", "2001:db8:0:1:8000::2"})
    CHECK(limit.take(parsed(address)));
  CHECK_FALSE(limit.take(parsed("2001:db8:0:1::4")));
  CHECK(limit.take(parsed("2001:db8:0:2::1")));
  CHECK(limit.clients() == 2);
  limit.give_back(parsed("2001:db8:0:1::1"));
  CHECK(limit.take(parsed("2001:db8:0:1::5")));

  AddressLimit wide(1, 56);
  CHECK(wide.take(parsed("2001:db8:0:100::1")));
  CHECK_FALSE(wide.take(parsed("2001:db8:0:1ff::1")));
  CHECK(wide.take(parsed("2001:db8:0:200::1")));
  AddressLimit single(1, 128);
  CHECK(single.take(parsed("2001:db8::1")));
  CHECK(single.take(parsed("2001:db8::2")));
}

}  // namespace prophecy::sketcher

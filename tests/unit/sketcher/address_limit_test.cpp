#include "sketcher/address_limit.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {

TEST_CASE("An address gets no more than its share, and others theirs") {
  AddressLimit limit(2);
  CHECK(limit.take("192.0.2.1"));
  CHECK(limit.take("192.0.2.1"));
  CHECK_FALSE(limit.take("192.0.2.1"));
  CHECK(limit.take("2001:db8::1"));
  limit.give_back("192.0.2.1");
  CHECK(limit.take("192.0.2.1"));
  CHECK_FALSE(limit.take("192.0.2.1"));
}

TEST_CASE("An address without a connection is forgotten") {
  AddressLimit limit(1);
  for (int i = 0; i < 3; ++i) {
    CHECK(limit.take("192.0.2.1"));
    CHECK_FALSE(limit.take("192.0.2.1"));
    CHECK(limit.addresses() == 1);
    limit.give_back("192.0.2.1");
    CHECK(limit.addresses() == 0);
  }
}

}  // namespace prophecy::sketcher

#include "sketcher/reads/member_fields.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

AddressRanges ranges_of(const std::vector<std::string>& texts) {
  AddressRanges ranges;
  for (const std::string& text : texts) {
    const auto range = AddressRange::parse(text);
    REQUIRE(range.has_value());
    ranges.push_back(*range);
  }
  return ranges;
}

}  // namespace

TEST_CASE("A member understands what another says of a client") {
  const AddressRanges trusted = ranges_of({"10.0.0.0/8", "2001:db8::/32", "192.0.2.7"});
  for (const bool verified : {false, true}) {
    for (const AddressRanges* peers : {static_cast<const AddressRanges*>(nullptr), &trusted}) {
      for (const char* scheme : {"http", "https"}) {
        const ClientInfo sent{.address = "10.1.2.3",
                              .trusted_peers = peers,
                              .secure = std::string_view(scheme) == "https",
                              .client_certificate_verified = verified};
        http::FieldList said;
        said.add(kClientField, client_field(sent));
        if (peers != nullptr) said.add(kPeersField, to_text(*peers));
        TrustedPeers known;
        ClientInfo read{.address = "of an earlier request",
                        .trusted_peers = &trusted,
                        .secure = true,
                        .client_certificate_verified = true};
        REQUIRE(read_client(said, scheme, known, read));
        CHECK(read.address == sent.address);
        CHECK(read.scheme() == scheme);
        CHECK(read.client_certificate_verified == verified);
        REQUIRE((read.trusted_peers == nullptr) == (peers == nullptr));
        if (peers == nullptr) continue;
        for (const char* text : {"10.255.0.1", "2001:db8::1", "192.0.2.7"})
          CHECK(contains(*read.trusted_peers, *IpAddress::parse(text)));
        for (const char* text : {"11.0.0.1", "2001:db9::1", "192.0.2.8", "::1"})
          CHECK_FALSE(contains(*read.trusted_peers, *IpAddress::parse(text)));
      }
    }
  }
}

TEST_CASE("A request of which no client is said, or none that is one, is refused") {
  const auto read = [](const std::vector<std::pair<std::string_view, std::string>>& fields) {
    http::FieldList said;
    for (const auto& [name, value] : fields)
      said.add(name, value);
    TrustedPeers known;
    ClientInfo client;
    return read_client(said, "http", known, client);
  };
  CHECK(read({{kClientField, "::1"}}));
  CHECK_FALSE(read({}));
  CHECK_FALSE(read({{kClientField, ""}}));
  CHECK_FALSE(read({{kClientField, ";verified"}}));
  CHECK_FALSE(read({{kClientField, "::1;verified;verified"}}));
  CHECK_FALSE(read({{kClientField, "example.org"}}));
  CHECK_FALSE(read({{kClientField, "::1"}, {kPeersField, "10.0.0.0/8, nobody"}}));
}

TEST_CASE("Ranges are parsed once, and there is an end to them") {
  TrustedPeers peers;
  const AddressRanges* first = peers.find("10.0.0.0/8");
  REQUIRE(first != nullptr);
  std::size_t found = 0;
  for (int i = 0; i < 300; ++i)
    found += peers.find("192.0." + std::to_string(i % 256) + "." + std::to_string(i / 256)) ? 1 : 0;
  CHECK(found < 300);
  CHECK(peers.find("10.0.0.0/8") == first);
}

TEST_CASE("A floor is asked for as it is understood") {
  for (const auto& write : {std::optional<SigmaOrder::Placed>(),
                            std::optional(SigmaOrder::Placed{.sigma = 70, .base = 12})}) {
    const FloorField sent{.group = 3, .write = write};
    const auto read = read_floor(to_text(sent));
    REQUIRE(read.has_value());
    CHECK(read->group == 3);
    REQUIRE(read->write.has_value() == write.has_value());
    if (!write) continue;
    CHECK(read->write->sigma == 70);
    CHECK(read->write->base == 12);
  }
  for (const char* text : {"", " ", "a", "1 2", "1 2 3 4", "64", "-1", "1 2 x", "1  2 3", "1 2 3 ",
                           "1 18446744073709551615 0", "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(read_floor(text).has_value());
  }
}

}  // namespace prophecy::sketcher

#include <catch2/catch.hpp>

#include "base/config/shared_settings.hpp"

namespace prophecy {
namespace {

bool holds(std::string_view range, std::string_view address) {
  INFO(range << " " << address);
  const auto parsed = AddressRange::parse(range);
  const auto value = IpAddress::parse(address);
  REQUIRE(parsed.has_value());
  REQUIRE(value.has_value());
  return parsed->contains(*value);
}

}  // namespace

TEST_CASE("the network of an address of IPv6") {
  const auto network = [](const char* text, unsigned prefix_bits) {
    return IpAddress::parse(text)->network(prefix_bits).to_string();
  };
  constexpr const char* kAll = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
  CHECK(network("2001:db8:1:2:3:4:5:6", 64) == "2001:db8:1:2::");
  CHECK(network("2001:db8:1:2:3:4:5:6", 128) == "2001:db8:1:2:3:4:5:6");
  CHECK(network(kAll, 48) == "ffff:ffff:ffff::");
  CHECK(network(kAll, 57) == "ffff:ffff:ffff:ff80::");
  CHECK(network(kAll, 127) == "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe");
  CHECK(network(kAll, 0) == "::");
  CHECK(network("192.0.2.255", 64) == "192.0.2.255");
}

TEST_CASE("addresses, there and back") {
  for (const char* text : {"127.0.0.1", "255.255.255.255", "0.0.0.0", "::", "::1", "2001:db8::1",
                           "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}) {
    INFO(text);
    const auto address = IpAddress::parse(text);
    REQUIRE(address.has_value());
    CHECK(address->to_string() == text);
    CHECK(address->is_v4() == (std::string_view(text).find(':') == std::string_view::npos));
  }
  CHECK(IpAddress::parse("::ffff:192.0.2.1") == IpAddress::parse("192.0.2.1"));
  CHECK(IpAddress::parse("::ffff:c000:201")->to_string() == "192.0.2.1");
  CHECK(IpAddress::parse("192.0.2.1") != IpAddress::parse("::192.0.2.1"));
}

TEST_CASE("what is not an address") {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv,
        " "sv,
        "1"sv,
        "1.2.3"sv,
        "1.2.3.4.5"sv,
        "1.2.3.256"sv,
        "01.2.3.4"sv,
        "1.2.3.4 "sv,
        " 1.2.3.4"sv,
        "0x1.2.3.4"sv,
        "[::1]"sv,
        "::1%lo"sv,
        "fe80::1%1"sv,
        ":::"sv,
        "1::2::3"sv,
        "localhost"sv,
        "1.2.3.4\0"sv,
        "1.2.3.4\0junk"sv,
        "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555"sv,
        "00000000000000000000000000000000000000000000000000000000000001.2.3.4"sv}) {
    INFO(text);
    CHECK_FALSE(IpAddress::parse(text).has_value());
  }
}

TEST_CASE("a range holds what its prefix covers") {
  CHECK(holds("10.0.0.0/8", "10.255.0.1"));
  CHECK_FALSE(holds("10.0.0.0/8", "11.0.0.0"));
  CHECK_FALSE(holds("10.0.0.0/8", "9.255.255.255"));
  CHECK(holds("192.0.2.128/25", "192.0.2.128"));
  CHECK_FALSE(holds("192.0.2.128/25", "192.0.2.127"));
  CHECK(holds("192.0.2.7", "192.0.2.7"));
  CHECK_FALSE(holds("192.0.2.7", "192.0.2.6"));
  CHECK(holds("2001:db8::/33", "2001:db8:7fff::1"));
  CHECK_FALSE(holds("2001:db8::/33", "2001:db8:8000::1"));
  CHECK(holds("::1", "::1"));
  CHECK_FALSE(holds("::1", "::2"));
}

TEST_CASE("a range holds its own family alone") {
  CHECK(holds("0.0.0.0/0", "255.1.2.3"));
  CHECK_FALSE(holds("0.0.0.0/0", "::1"));
  CHECK_FALSE(holds("0.0.0.0/0", "::"));
  CHECK(holds("::/0", "2001:db8::1"));
  CHECK_FALSE(holds("::/0", "10.0.0.1"));
  CHECK_FALSE(holds("::/0", "::ffff:10.0.0.1"));
  CHECK(holds("10.0.0.0/8", "::ffff:10.0.0.1"));
  CHECK(holds("::ffff:10.0.0.0/104", "10.0.0.1"));
  CHECK_FALSE(holds("::ffff:10.0.0.0/104", "11.0.0.1"));
}

TEST_CASE("what is not a range") {
  for (const char* text :
       {"", "/", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8 ",
        "10.0.0.0/8/8", "10.0.0.1/8", "2001:db8::1/32", "::/129", "::ffff:0.0.0.0/95",
        "::ffff:10.0.0.0/8", "10/8", "example.org", "10.0.0.0/255.0.0.0"}) {
    INFO(text);
    const auto range = AddressRange::parse(text);
    REQUIRE_FALSE(range.has_value());
    CHECK(range.error().kind == ErrorKind::invalid);
  }
}

TEST_CASE("ranges in a configuration") {
  auto file = ConfigFile::parse("peers = [\"10.0.0.0/8\", \"::1\"]\n", "f");
  REQUIRE(file.has_value());
  ConfigSection root = file->root();
  const AddressRanges ranges = read_address_ranges(root, "peers");
  CHECK(read_address_ranges(root, "absent").empty());
  REQUIRE(file->finish().has_value());
  CHECK(contains(ranges, *IpAddress::parse("10.1.2.3")));
  CHECK(contains(ranges, *IpAddress::parse("::1")));
  CHECK_FALSE(contains(ranges, *IpAddress::parse("11.1.2.3")));
  CHECK_FALSE(contains({}, *IpAddress::parse("::1")));

  auto bad = ConfigFile::parse("\npeers = [\"10.0.0.0/8\", \"10.0.0.1/8\"]\n", "f");
  ConfigSection bad_root = bad->root();
  static_cast<void>(read_address_ranges(bad_root, "peers"));
  const auto finished = bad->finish();
  REQUIRE_FALSE(finished.has_value());
  CHECK(finished.error().message.find("f:2:24: peers: expected ADDRESS") != std::string::npos);
}

}  // namespace prophecy

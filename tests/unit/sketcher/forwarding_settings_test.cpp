#include "sketcher/config/forwarding_settings.hpp"

#include <catch2/catch.hpp>

#include "base/config/config.hpp"

namespace prophecy::sketcher {
namespace {

// The mistakes, or "".
std::string problems_of(const std::string& text) {
  auto file = ConfigFile::parse(text, "f");
  REQUIRE(file.has_value());
  ConfigSection listener = file->root().section("listener");
  static_cast<void>(read_peer_settings(listener));
  static_cast<void>(read_forwarding(file->root().section("forwarding")));
  const auto finished = file->finish();
  return finished ? "" : finished.error().message;
}

}  // namespace

TEST_CASE("who may speak for others, and what origins are told") {
  auto file = ConfigFile::parse(
      "[listener]\ntrusted_peers = [\"10.0.0.0/8\"]\nproxy_protocol = \"required\"\n"
      "[forwarding]\nstyle = \"forwarded\"\npseudonym = \"edge-1\"\n"
      "group_client_address = \"2001:DB8::1\"\n",
      "f");
  REQUIRE(file.has_value());
  ConfigSection listener = file->root().section("listener");
  const PeerSettings peers = read_peer_settings(listener);
  const sketch::Forwarding forwarding = read_forwarding(file->root().section("forwarding"));
  REQUIRE(file->finish().has_value());
  CHECK(peers.proxy_protocol);
  CHECK(contains(peers.trusted_peers, *IpAddress::parse("10.1.1.1")));
  CHECK(forwarding.style == sketch::ForwardingStyle::forwarded);
  CHECK(forwarding.via == "1.1 edge-1");
  CHECK(forwarding.pseudonym() == "edge-1");
  CHECK(forwarding.group_client.to_string() == "2001:db8::1");
}

TEST_CASE("by default nobody is trusted") {
  auto file = ConfigFile::parse("", "f");
  REQUIRE(file.has_value());
  ConfigSection root = file->root();
  const PeerSettings peers = read_peer_settings(root);
  const sketch::Forwarding forwarding = read_forwarding(root);
  CHECK_FALSE(peers.proxy_protocol);
  CHECK(peers.trusted_peers.empty());
  CHECK(forwarding.style == sketch::ForwardingStyle::x_forwarded);
  CHECK(forwarding.via == "1.1 prophecy");
  CHECK(forwarding.group_client.to_string() == "192.0.2.1");
}

TEST_CASE("forwarding that makes no sense") {
  CHECK(problems_of("[listener]\n[forwarding]\n").empty());
  CHECK(problems_of("[listener]\nproxy_protocol = \"required\"\n").find("trusted_peers beside") !=
        std::string::npos);
  CHECK(problems_of("[listener]\nproxy_protocol = \"on\"\n").find("proxy_protocol") !=
        std::string::npos);
  CHECK(problems_of("[listener]\ntrusted_peers = [\"10.0.0.1/8\"]\n").find("trusted_peers") !=
        std::string::npos);
  for (const char* address : {"", "10.0.0", "10.0.0.1/8", "10.0.0.1:80", "[::1]", "unknown"}) {
    INFO(address);
    CHECK(problems_of("[forwarding]\ngroup_client_address = \"" + std::string(address) + "\"\n")
              .find("expected an IP address") != std::string::npos);
  }
  for (const char* pseudonym : {"", "a b", "a,b", "a(b)", "\\r\\n"}) {
    INFO(pseudonym);
    CHECK(problems_of("[forwarding]\npseudonym = \"" + std::string(pseudonym) + "\"\n")
              .find("expected a token") != std::string::npos);
  }
}

}  // namespace prophecy::sketcher

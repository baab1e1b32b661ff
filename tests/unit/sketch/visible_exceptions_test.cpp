#include "canonical/visible_exceptions.hpp"

#include "base/config/config.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

Profile profile_with(const std::string& lines) {
  auto file = ConfigFile::parse(lines, "f.toml");
  REQUIRE(file.has_value());
  Profile profile = Profile::from_config(file->root());
  REQUIRE(file->finish().has_value());
  return profile;
}

const AddressRanges kTrustedProxies{*AddressRange::parse("10.0.0.0/8")};

// A request behind a trusted peer, and both of its texts.
struct Texts {
  explicit Texts(const std::string& lines, const Profile& profile = {}, Forwarding forwarding = {},
                 const std::string& method = "GET", std::string_view peer = "10.0.0.1") {
    const std::string body = method == "PUT" ? "Content-Length: 2\r\n\r\nhi" : "\r\n";
    const http::Request request =
        parse_request(method + " /x?y HTTP/1.1\r\nHost: a\r\n" + lines + body);
    RequestCanonicalizer canonicalizer(std::move(forwarding));
    const RequestContext context{.client_address = peer, .trusted_peers = &kTrustedProxies};
    REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
    REQUIRE_FALSE(canonicalizer.canonicalize(request, context, profile, form).has_value());
    form.append_group_wire(group);
  }

  RequestForm form;
  std::string group;
};

// Clients who differ in nothing but visible exceptions.
const std::vector<std::string> kClients = {
    "",
    "User-Agent: sqlmap\r\n",
    "user-agent: a\r\nUSER-AGENT: b\r\nReferer: http://evil.example/\r\n",
    "X-Forwarded-For: 10.1.2.3\r\nForwarded: for=10.1.2.3\r\n",
    "X-Forwarded-For: 203.0.113.9, 127.0.0.1\r\nForwarded: for=_x, for=\"[::1]:80\"\r\n",
    "X-Request-Id: 1\r\ntraceparent: 00-1\r\ntracestate: a=b\r\n",
    "X-Trace: own\r\nUser-Agent:\r\nReferer: 192.0.2.1\r\n",
};
const std::string kKeyed = "Accept: */*\r\nCookie: c=1\r\n";

}  // namespace

TEST_CASE("a read's text for the group has constants in place of the visible exceptions") {
  const Texts read(
      "User-Agent: sqlmap\r\nReferer: r\r\nX-Request-Id: 1\r\ntraceparent: 2\r\nX-Own: 3\r\n"
      "X-Forwarded-For: 10.9.9.9\r\nCookie: c\r\n",
      profile_with("forwarded_headers = [\"x-own\"]"));
  CHECK(read.group ==
        "GET /x?y HTTP/1.1\r\nhost: a\r\ncookie: c\r\nuser-agent: Prophecy\r\n"
        "accept-encoding: identity\r\nvia: 1.1 prophecy\r\nx-forwarded-for: 192.0.2.1\r\n"
        "x-forwarded-host: a\r\nx-forwarded-port: 80\r\nx-forwarded-proto: http\r\n\r\n");
  // Origins' logs still get them with fast reads.
  for (const char* line :
       {"user-agent: sqlmap\r\n", "referer: r\r\n", "x-request-id: 1\r\n", "traceparent: 2\r\n",
        "x-own: 3\r\n", "x-forwarded-for: 10.9.9.9, 10.0.0.1\r\n"}) {
    INFO(line);
    CHECK(read.form.wire.find(line) != std::string::npos);
  }
  CHECK(read.form.has_exceptions());

  Forwarding forwarded{.style = ForwardingStyle::forwarded};
  CHECK(Texts("Forwarded: for=10.9.9.9\r\n", {}, forwarded)
            .group.ends_with("via: 1.1 prophecy\r\n"
                             "forwarded: for=192.0.2.1;host=a;proto=http\r\n\r\n"));
  forwarded.group_client = *IpAddress::parse("2001:db8::1");
  CHECK(Texts("", {}, forwarded)
            .group.ends_with("forwarded: for=\"[2001:db8::1]\";host=a;proto=http\r\n\r\n"));
}

TEST_CASE("the text for the group is a function of the key") {
  for (const ForwardingStyle style : {ForwardingStyle::x_forwarded, ForwardingStyle::forwarded}) {
    for (const char* lines :
         {"", "forwarded_headers = [\"x-trace\"]", "keyed_headers = [\"cache-control\"]"}) {
      const Profile profile = profile_with(lines);
      const Forwarding forwarding{.style = style};
      const Texts first(kKeyed, profile, forwarding);
      for (const char* peer : {"10.0.0.1", "127.0.0.1", "2001:db8::7", ""}) {
        for (const std::string& client : kClients) {
          INFO(client << peer << lines);
          const Texts other(client + kKeyed, profile, forwarding, "GET", peer);
          REQUIRE(other.form.key == first.form.key);
          CHECK(other.group == first.group);
          CHECK(other.form.has_exceptions() == (other.group != other.form.wire));
        }
      }
      CHECK(Texts("Accept: text/html\r\n", profile, forwarding).group != first.group);
    }
  }
}

TEST_CASE("a value that is keyed goes to the group as well") {
  const Profile keyed = profile_with("key_client_address = true\nkeyed_headers = [\"user-agent\"]");
  for (const ForwardingStyle style : {ForwardingStyle::x_forwarded, ForwardingStyle::forwarded}) {
    const Forwarding forwarding{.style = style};
    for (const std::string& client : kClients) {
      const Texts read(client, keyed, forwarding);
      INFO(client);
      // The others are left out: whoever sends none of them has one text.
      if (client.find("Referer") == std::string::npos &&
          client.find("trace") == std::string::npos) {
        CHECK(read.group == read.form.wire);
        CHECK_FALSE(read.form.has_exceptions());
      }
      CHECK(read.group.find("192.0.2.1") == std::string::npos);
      CHECK(read.group.find("Prophecy") == std::string::npos);
    }
  }
  const Texts referer("Referer: r\r\nUser-Agent: u\r\nX-Forwarded-For: 10.9.9.9\r\n", keyed);
  CHECK(referer.form.has_exceptions());
  CHECK(referer.group.find("referer") == std::string::npos);
  CHECK(referer.group.find("user-agent: u\r\n") != std::string::npos);
  CHECK(referer.group.find("x-forwarded-for: 10.9.9.9, 10.0.0.1\r\n") != std::string::npos);
}

TEST_CASE("writes and tunnels have one text") {
  for (const std::string& client : kClients) {
    INFO(client);
    const Texts write(client, {}, {}, "PUT");
    CHECK(write.group == write.form.wire);
    CHECK_FALSE(write.form.has_exceptions());
    const MadeRequest tunnel(
        {}, "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n" + client + "\r\n",
        {.client_address = "10.0.0.1", .upgrade = "x"});
    std::string group;
    tunnel.form.append_group_wire(group);
    CHECK(group == tunnel.form.wire);
    CHECK_FALSE(tunnel.form.has_exceptions());
  }
}

TEST_CASE("a client that sends the constants has no exceptions") {
  const Texts read("User-Agent: Prophecy\r\n", {}, {}, "GET", "192.0.2.1");
  CHECK(read.group == read.form.wire);
  CHECK_FALSE(read.form.has_exceptions());
  CHECK(Texts("", {}, {}, "GET", "192.0.2.1").form.has_exceptions());  // no User-Agent
}

TEST_CASE("what stood in a form before leaves no exceptions behind") {
  RequestCanonicalizer canonicalizer;
  RequestForm form;
  const RequestContext context{.client_address = "10.0.0.1"};
  const Profile profile;
  for (const char* text : {"GET /a/long/target HTTP/1.1\r\nHost: a\r\nUser-Agent: u\r\n\r\n",
                           "DELETE / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    const http::Request request = parse_request(text);
    REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
    REQUIRE_FALSE(canonicalizer.canonicalize(request, context, profile, form).has_value());
  }
  CHECK_FALSE(form.has_exceptions());
}

}  // namespace prophecy::sketch

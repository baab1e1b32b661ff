#include "canonical/forwarding.hpp"

#include "base/config/config.hpp"
#include "canonical/forwarded_scheme.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

constexpr auto kX = ForwardingStyle::x_forwarded;
constexpr auto kF = ForwardingStyle::forwarded;

AddressRanges make_ranges(std::initializer_list<const char*> texts) {
  AddressRanges made;
  for (const char* text : texts)
    made.push_back(*AddressRange::parse(text));
  return made;
}

const AddressRanges kTrusted = make_ranges({"10.0.0.0/8", "2001:db8::/32"});

// The client's address, and in brackets what an origin is told of the way: "CLIENT [VALUE]".
std::string told(ForwardingStyle style, const std::string& lines,
                 const AddressRanges* trusted = &kTrusted, std::string_view peer = "10.0.0.1") {
  const Profile profile;
  const http::Request request = parse_request("GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n");
  RequestCanonicalizer canonicalizer({style, "1.1 prophecy"});
  const RequestContext context{"http", peer, trusted};
  RequestForm form;
  REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
  REQUIRE_FALSE(canonicalizer.canonicalize(request, context, profile, form).has_value());
  const http::Request sent = parse_request(form.wire);
  const std::string_view name = style == kX ? "x-forwarded-for" : "forwarded";
  REQUIRE(sent.fields.count(name) == 1);
  return form.client + " [" + std::string(*sent.fields.find(name)) + "]";
}

std::string wire_of(ForwardingStyle style, std::string_view text, RequestContext context) {
  const Profile profile;
  RequestCanonicalizer canonicalizer({style, "1.1 edge"});
  const http::Request request = parse_request(text);
  RequestForm form;
  REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
  REQUIRE_FALSE(canonicalizer.canonicalize(request, context, profile, form).has_value());
  return form.wire;
}

}  // namespace

TEST_CASE("a chain of a peer that is not trusted is replaced") {
  const std::string lines = "X-Forwarded-For: 10.0.0.9, 1.2.3.4\r\nForwarded: for=1.2.3.4\r\n";
  CHECK(told(kX, lines, nullptr, "192.0.2.1") == "192.0.2.1 [192.0.2.1]");
  CHECK(told(kF, lines, nullptr, "192.0.2.1") == "192.0.2.1 [for=192.0.2.1;host=a;proto=http]");
}

TEST_CASE("X-Forwarded-For of a trusted peer is kept, and names the client") {
  const auto chain = [](const std::string& value) {
    return told(kX, "X-Forwarded-For: " + value + "\r\n");
  };
  CHECK(told(kX, "") == "10.0.0.1 [10.0.0.1]");
  CHECK(chain("1.2.3.4") == "1.2.3.4 [1.2.3.4, 10.0.0.1]");
  CHECK(chain("6.6.6.6, 1.2.3.4, 10.9.9.9") == "1.2.3.4 [6.6.6.6, 1.2.3.4, 10.9.9.9, 10.0.0.1]");
  CHECK(chain("10.0.0.3, 10.0.0.2") == "10.0.0.3 [10.0.0.3, 10.0.0.2, 10.0.0.1]");
  CHECK(chain("1.2.3.4:5678") == "1.2.3.4 [1.2.3.4:5678, 10.0.0.1]");
  CHECK(chain("2001:db9::1") == "2001:db9::1 [2001:db9::1, 10.0.0.1]");
  CHECK(chain("[2001:db9::1]:80, [2001:db8::1]") ==
        "2001:db9::1 [[2001:db9::1]:80, [2001:db8::1], 10.0.0.1]");
  CHECK(chain("::ffff:10.0.0.5") == "10.0.0.5 [::ffff:10.0.0.5, 10.0.0.1]");
  CHECK(chain("2001:DB9:0::1") == "2001:db9::1 [2001:DB9:0::1, 10.0.0.1]");
  CHECK(chain("1.2.3.4,,10.0.0.2,") == "1.2.3.4 [1.2.3.4,,10.0.0.2,, 10.0.0.1]");
  // Something else than an address: who reported it is all that is known.
  CHECK(chain("unknown") == "10.0.0.1 [unknown, 10.0.0.1]");
  CHECK(chain("1.2.3.4, unknown, 10.0.0.2") == "10.0.0.2 [1.2.3.4, unknown, 10.0.0.2, 10.0.0.1]");
  CHECK(chain("1.2.3.4:99999") == "10.0.0.1 [1.2.3.4:99999, 10.0.0.1]");
  // A client's quotation mark hides nothing of what a trusted hop put behind it.
  CHECK(chain("\"6.6.6.6, 1.2.3.4") == "1.2.3.4 [\"6.6.6.6, 1.2.3.4, 10.0.0.1]");
  CHECK(
      told(kX,
           "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.2.3.4\r\nForwarded: for=7.7.7.7\r\n") ==
      "1.2.3.4 [6.6.6.6, 1.2.3.4, 10.0.0.1]");
}

TEST_CASE("a chain may be long") {
  std::string long_chain = "X-Forwarded-For: 6.6.6.6";
  for (int i = 0; i < 500; ++i)
    long_chain += ",1.2.3.4";
  CHECK(told(kX, long_chain + "\r\n").starts_with("1.2.3.4 ["));
  for (int i = 0; i < 20; ++i)
    long_chain += ",10.2.3.4";
  CHECK(told(kX, long_chain + "\r\n").starts_with("10.2.3.4 ["));
}

TEST_CASE("Forwarded of a trusted peer is kept, and names the client") {
  const auto chain = [](const std::string& value) {
    return told(kF, "Forwarded: " + value + "\r\n");
  };
  const std::string own = "for=10.0.0.1;host=a;proto=http]";
  CHECK(told(kF, "") == "10.0.0.1 [" + own);
  CHECK(chain("for=1.2.3.4") == "1.2.3.4 [for=1.2.3.4, " + own);
  CHECK(chain("For=\"1.2.3.4:99\";Proto=https;by=_x, for=10.2.2.2") ==
        "1.2.3.4 [For=\"1.2.3.4:99\";Proto=https;by=_x, for=10.2.2.2, " + own);
  CHECK(chain("for=\"[2001:db9::1]:4711\"") == "2001:db9::1 [for=\"[2001:db9::1]:4711\", " + own);
  CHECK(chain("for=unknown") == "10.0.0.1 [for=unknown, " + own);
  CHECK(chain("for=_hidden, for=10.0.0.2") == "10.0.0.2 [for=_hidden, for=10.0.0.2, " + own);
  CHECK(chain("proto=http") == "10.0.0.1 [proto=http, " + own);
  CHECK(chain("for=1.2.3.4;host=\"a,b;c\\\"\"") ==
        "1.2.3.4 [for=1.2.3.4;host=\"a,b;c\\\"\", " + own);
  CHECK(chain("for=1.2.3.4;;proto=http, ,") == "1.2.3.4 [for=1.2.3.4;;proto=http, ,, " + own);
}

TEST_CASE("a malformed Forwarded counts as none") {
  for (const char* value :
       {"for=\"1.2.3.4", "for=\"1.2.3.4\\", "for", "for=", "=1.2.3.4", "for=1.2.3.4 for=5.6.7.8",
        "for=1.2.3.4;for=5.6.7.8", "for=[::1]", "for=1.2.3.4:80", "for =1.2.3.4", "for= 1.2.3.4",
        "1.2.3.4", "for=\"a\"b", "for=1.2.3.4; proto=http", "\xff"}) {
    INFO(value);
    CHECK(told(kF, "Forwarded: " + std::string(value) + "\r\n") ==
          "10.0.0.1 [for=10.0.0.1;host=a;proto=http]");
  }
  CHECK(told(kF, "Forwarded: for=1.2.3.4\r\nForwarded: for=\"x\r\n") ==
        "10.0.0.1 [for=10.0.0.1;host=a;proto=http]");
}

TEST_CASE("what else origins are told is constant for the route") {
  const std::string text =
      "GET / HTTP/1.1\r\nHost: A.example:8080\r\nX-Forwarded-Host: evil\r\n"
      "X-Forwarded-Proto: evil\r\nX-Forwarded-Port: 6\r\nVia: 1.0 evil\r\n\r\n";
  CHECK(wire_of(kX, text, {"http", "10.0.0.1", &kTrusted}) ==
        "GET / HTTP/1.1\r\nhost: a.example:8080\r\naccept-encoding: identity\r\nvia: 1.1 edge\r\n"
        "x-forwarded-for: 10.0.0.1\r\nx-forwarded-host: a.example:8080\r\n"
        "x-forwarded-port: 8080\r\nx-forwarded-proto: http\r\n\r\n");
  CHECK(wire_of(kF, text, {"https", "2001:db8::1", &kTrusted}) ==
        "GET / HTTP/1.1\r\nhost: a.example:8080\r\naccept-encoding: identity\r\nvia: 1.1 edge\r\n"
        "forwarded: for=\"[2001:db8::1]\";host=\"a.example:8080\";proto=https\r\n\r\n");
  const auto port = [](const char* host, const char* scheme) {
    const std::string wire =
        wire_of(kX, "GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n", {scheme, ""});
    CHECK(wire.find("x-forwarded-for") == std::string::npos);
    return std::string(*parse_request(wire).fields.find("x-forwarded-port"));
  };
  CHECK(port("a", "http") == "80");
  CHECK(port("a", "https") == "443");
  CHECK(port("a:443", "http") == "443");
  CHECK(port("[::1]", "http") == "80");
  CHECK(port("[::1]:81", "https") == "81");
}

TEST_CASE("a request that has been here before is refused") {
  for (const char* via : {"1.1 edge", "HTTP/1.1 edge", "1.1 EDGE (Apache)", "1.1\tedge(x)",
                          "1.0 fred, 1.1 edge", "1.1 edge, 1.1 other", "1.1  edge"}) {
    INFO(via);
    CHECK(names_in_via(via, "edge"));
  }
  for (const char* via : {"", "edge", "1.1", "1.1 edger", "1.1 ed", "1.1 fred (edge)",
                          "1.1 edge:80", "1.1 other, 1.1 another"}) {
    INFO(via);
    CHECK_FALSE(names_in_via(via, "edge"));
  }
  for (const char* method : {"GET", "POST"}) {
    MadeRequest made(Profile(), std::string(method) +
                                    " / HTTP/1.1\r\nHost: a\r\nVia: 1.0 x\r\nVia: 1.1 "
                                    "Prophecy\r\n\r\n");
    REQUIRE(made.refusal.has_value());
    CHECK(made.refusal->status == 508);
  }
}

// The switch that keys the client's address.
TEST_CASE("the client's address is keyed where it is asked for") {
  auto file = ConfigFile::parse("key_client_address = true", "test");
  REQUIRE(file.has_value());
  const Profile keyed = Profile::from_config(file->root());
  REQUIRE(file->finish().has_value());
  const auto key = [](const Profile& profile, std::string_view address, std::string_view method) {
    const RequestContext context{.client_address = address};
    const std::string text = std::string(method) + " / HTTP/1.1\r\nHost: a\r\n\r\n";
    return MadeRequest(profile, text, context).form.key;
  };
  CHECK(key(keyed, "192.0.2.1", "GET") == key(keyed, "192.0.2.1", "GET"));
  CHECK(key(keyed, "192.0.2.1", "GET") != key(keyed, "192.0.2.2", "GET"));
  CHECK(key(Profile(), "192.0.2.1", "GET") == key(Profile(), "192.0.2.2", "GET"));
  CHECK(key(keyed, "192.0.2.1", "DELETE").empty());
  for (const char* const name : {"x-forwarded-for", "forwarded"}) {
    CHECK(Profile().is_seen_unkeyed(name));
    CHECK_FALSE(keyed.is_seen_unkeyed(name));
  }
  CHECK(keyed.is_seen_unkeyed("user-agent"));
}

TEST_CASE("forwarding: a trusted peer says by which scheme its client has come") {
  const auto scheme = [](ForwardingStyle style, const std::string& lines) {
    const http::Request request = parse_request("GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n");
    return std::string(forwarded_scheme(request.fields, style));
  };
  CHECK(scheme(kX, "X-Forwarded-Proto: https\r\n") == "https");
  CHECK(scheme(kX, "X-Forwarded-Proto: HTTP\r\n") == "http");
  CHECK(scheme(kX, "X-Forwarded-Proto: https, http\r\n") == "http");
  CHECK(scheme(kX, "X-Forwarded-Proto: http\r\nX-Forwarded-Proto: https\r\n") == "https");
  CHECK(scheme(kX, "X-Forwarded-Proto: wss\r\n").empty());
  CHECK(scheme(kX, "Forwarded: proto=https\r\n").empty());
  CHECK(scheme(kX, "").empty());
  CHECK(scheme(kF, "Forwarded: for=192.0.2.1;proto=https;host=\"a,b\"\r\n") == "https");
  CHECK(scheme(kF, "Forwarded: for=_a;proto=https, for=_b;Proto=\"http\"\r\n") == "http");
  CHECK(scheme(kF, "Forwarded: proto=https, for=_b\r\n").empty());
  CHECK(scheme(kF, "Forwarded: proto=https, \"\r\n").empty());
  CHECK(scheme(kF, "X-Forwarded-Proto: https\r\n").empty());
}

}  // namespace prophecy::sketch

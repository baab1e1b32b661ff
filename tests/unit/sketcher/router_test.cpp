#include "sketcher/core/policy/router.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "sketcher/core/policy/path_readings.hpp"

namespace prophecy::sketcher {
namespace {

using Miss = Router::Miss;

std::optional<std::uint32_t> route_of(const Router& router, std::string_view authority,
                                      std::string_view target) {
  return router.choose(authority, target).route;
}

}  // namespace

TEST_CASE("One route without a host takes everything") {
  const Router router(std::vector<RoutePattern>(1));
  for (const char* target : {"/", "/a?b", "*", "/a/../b", "/%61", "//x"}) {
    INFO(target);
    CHECK(route_of(router, "any.example:81", target) == 0u);
  }
}

TEST_CASE("The most specific host that has a route for the path decides") {
  const Router router({{{"a.example"}, "/"},
                       {{"a.example:8080"}, "/"},
                       {{"*.example"}, "/"},
                       {{"*.b.example"}, "/deep"},
                       {{}, "/"},
                       {{"[::1]"}, "/"}});
  CHECK(route_of(router, "a.example", "/") == 0u);
  CHECK(route_of(router, "a.example:9090", "/") == 0u);
  CHECK(route_of(router, "a.example:8080", "/") == 1u);
  CHECK(route_of(router, "x.example", "/") == 2u);
  CHECK(route_of(router, "x.example:1", "/") == 2u);
  CHECK(route_of(router, "x.a.example", "/") == 2u);
  CHECK(route_of(router, "x.b.example", "/deep/er") == 3u);
  CHECK(route_of(router, "x.b.example", "/") == 2u);
  CHECK(route_of(router, "example", "/") == 4u);
  CHECK(route_of(router, "xexample", "/") == 4u);
  CHECK(route_of(router, "[::1]", "/") == 5u);
  CHECK(route_of(router, "[::1]:81", "/") == 5u);
  CHECK(route_of(router, "[::2]", "/") == 4u);
}

TEST_CASE("The longest prefix decides, and ends where a segment ends") {
  const Router router({{{}, "/a"}, {{}, "/a/b"}, {{}, "/c/"}});
  CHECK(route_of(router, "h", "/a") == 0u);
  CHECK(route_of(router, "h", "/a/") == 0u);
  CHECK(route_of(router, "h", "/a?x=/a/b") == 0u);
  CHECK(route_of(router, "h", "/a/b") == 1u);
  CHECK(route_of(router, "h", "/a/b/c") == 1u);
  CHECK(route_of(router, "h", "/a/bc") == 0u);
  CHECK(route_of(router, "h", "/c/d") == 2u);
  CHECK(router.choose("h", "/ab").miss == Miss::unknown_path);
  CHECK(router.choose("h", "/c").miss == Miss::unknown_path);
  CHECK(router.choose("h", "*").miss == Miss::unknown_path);
}

TEST_CASE("What is for nobody") {
  const Router router(std::vector{RoutePattern{{"a.example"}, "/x"}});
  CHECK(router.choose("b.example", "/x").miss == Miss::unknown_host);
  CHECK(router.choose("a.example", "/y").miss == Miss::unknown_path);
  CHECK(router.choose("x.a.example", "/x").miss == Miss::unknown_host);
}

TEST_CASE("A path that another reader would route elsewhere is refused") {
  const Router router({{{}, "/"}, {{}, "/admin"}});
  for (const char* target :
       {"/%61dmin", "/x/../admin", "/x/%2e%2e/admin", "//admin", "/./admin", "/x/..%2fadmin",
        "/admin/../x", "/admin/%2e%2e/x", "/admin%2fx", "/../admin/x", "/x/%2E./admin?q",
        // Segments that end at a semicolon.
        "/x/..;/admin", "/x/..;a=b/admin", "/x/..%3b/admin", "/x/%2e.;/admin", "/admin;",
        "/admin;a/x", "/;/admin", "/.;a/admin", "/admin%3bx", "/admin/..;/x", "/;a\\b/admin",
        // Backslashes that are slashes.
        "/x\\..\\admin", "/x\\..\\..\\admin", "/\\admin", "/admin\\x", "/x/..%5cadmin",
        "/x%5C..%5cadmin", "/x\\..;a\\admin", "/a;b\\..\\admin", "/x%5c..%3ba%5cadmin",
        "/x/;%2f..%2f../admin",
        // Encoded twice.
        "/%2561dmin", "/x/%252e%252e/admin", "/x/..%252fadmin", "/admin%252Fx",
        "/x%255c..%255cadmin", "/x/..%253ba/admin", "/%25%36%31dmin", "/admin/%25%32%65./x"}) {
    INFO(target);
    CHECK(router.choose("h", target).miss == Miss::ambiguous_path);
    CHECK_FALSE(route_of(router, "h", target));
  }
  // No reader takes these for another route's.
  for (const char* target :
       {"/x/../y", "/%7Euser", "/x%2fy", "//x", "/admins", "/a%", "/a%zz", "/x?/../admin",
        "/.well-known/x", "/x/...", "/x;jsessionid=1", "/x;a/admin", "/x/admin;a", "/x\\admin",
        "/x?;\\..\\admin", "/x;/y;b=c/", "/100%25", "/a%2520b", "/x%252fadmin"}) {
    INFO(target);
    CHECK(route_of(router, "h", target) == 0u);
  }
  for (const char* target :
       {"/admin/a/../b", "/admin/a;jsessionid=1", "/admin/a\\b", "/admin/a;/../b"}) {
    INFO(target);
    CHECK(route_of(router, "h", target) == 1u);
  }
}

TEST_CASE("A path of all that can be read in different ways has few readings") {
  const std::string tangle = "/a;b\\..%5c;%2f.%3b%25%255c%2561%253b";
  std::string path;
  std::size_t most = 0;
  bool refused = false;
  for (int i = 0; i < 500; ++i) {
    path += tangle;
    const auto readings = readings_of_path(path);
    REQUIRE((!refused || !readings));  // a longer one is not read again
    refused = !readings;
    if (!readings) continue;
    std::size_t bytes = 0;
    for (const std::string& reading : *readings)
      bytes += reading.size();
    CHECK(bytes <= kReadingsBytesMax);
    most = std::max(most, readings->size());
  }
  CHECK(refused);
  CHECK(most > 8);
  CHECK(most <= kReadingsMax);
  using Readings = std::vector<std::string>;
  CHECK(readings_of_path("/a%62/") == Readings{"/a%62", "/ab"});
  CHECK(readings_of_path("/a%2562") == Readings{"/a%2562", "/a%62", "/ab"});
  CHECK(readings_of_path("/100%") == Readings{"/100%"});
}

TEST_CASE("A long path is refused where it can be read in many ways, and only there") {
  std::string encoded;
  while (encoded.size() < (8 << 10))
    encoded += "/%e4%bd%a0%e5%a5%bd";
  std::string tangled(4 << 10, 'a');
  tangled.append(";\\%5c%3b%25").insert(0, "/");
  const Router router({{{}, "/"}, {{}, "/admin"}});
  CHECK(route_of(router, "h", encoded) == 0u);
  CHECK(route_of(router, "h", "/admin" + encoded) == 1u);
  CHECK(route_of(router, "h", "/" + std::string(64 << 10, 'a')) == 0u);
  CHECK_FALSE(route_of(router, "h", tangled));
  CHECK(router.choose("h", tangled).miss == Miss::long_path);
  const Router whole(std::vector{RoutePattern{}});
  CHECK(route_of(whole, "h", tangled) == 0u);
}

TEST_CASE("Of a route's lists, and of its own path, the longest prefix decides") {
  const Router router({{{}, "/", {"/static", "/live/not/me"}, {"/live", "/static/counter"}},
                       {{"a.example"}, "/app", {}, {"/app"}}});
  const auto mark_of = [&](std::string_view target, std::string_view host = "h") {
    return router.choose(host, target).mark;
  };
  CHECK(mark_of("/") == Mark::none);
  CHECK(mark_of("/static") == Mark::whitelisted);
  CHECK(mark_of("/static/a?b") == Mark::whitelisted);
  CHECK(mark_of("/statics") == Mark::none);
  CHECK(mark_of("/static/counter") == Mark::blacklisted);
  CHECK(mark_of("/static/counter/1") == Mark::blacklisted);
  CHECK(mark_of("/static/counters") == Mark::whitelisted);
  CHECK(mark_of("/static/.a/..b") == Mark::whitelisted);
  CHECK(mark_of("/live/x") == Mark::blacklisted);
  CHECK(mark_of("/live/not/me") == Mark::whitelisted);
  CHECK(mark_of("*") == Mark::none);
  CHECK(mark_of("/app/x", "a.example") == Mark::blacklisted);
  CHECK(mark_of("/app/x", "h") == Mark::none);
  CHECK(route_of(router, "a.example", "/app/x") == 1u);
  CHECK(route_of(router, "h", "/static/x") == 0u);
}

TEST_CASE("A path that can be read in two ways is never whitelisted, blacklisted if a reading is") {
  const Router router({{{}, "/", {"/static"}, {"/live"}}});
  const auto mark_of = [&](std::string_view target) { return router.choose("h", target).mark; };
  for (const char* target :
       {"/static/%61", "/static/./a", "/static//a", "/x/../static/a", "/%73tatic/a", "/static/..",
        "/static/%2e%2e/a", "/static/..;/a", "/static/a;b", "/static/\\..\\..\\a"}) {
    INFO(target);
    CHECK(mark_of(target) == Mark::none);
    CHECK(route_of(router, "h", target) == 0u);
  }
  for (const char* target : {"/live/%61", "/%6cive", "/x/../live/a", "/live/../x", "//live",
                             "/static/../live", "/static/%2e%2e/live", "/live/../static/a",
                             "/x/..;/live", "/live;a", "/live/..;/x", "/x\\..\\live", "/live\\x"}) {
    INFO(target);
    CHECK(mark_of(target) == Mark::blacklisted);
    CHECK(route_of(router, "h", target) == 0u);
  }
}

TEST_CASE("Patterns that a configuration may hold") {
  for (const char* host :
       {"a", "a.b", "*.a.b", "a:80", "a:65535", "[::1]:80", "[::1]", "192.0.2.1"})
    CHECK(is_host_pattern(host));
  for (const char* host :
       {"",        "*",     "*.",   "a b",  "A",    ".a",  "a/b",     "*a.b",    "a.*",  "a.",
        "*.a.b.",  "a.:80", "a..b", "*..a", "a:",   "a:0", "a:65536", "a:99999", "a:8o", "a:-1",
        "a:80:80", ":80",   "[]",   "[a]",  "[::1", "::1", "*.[::1]", "[::1]:"})
    CHECK_FALSE(is_host_pattern(host));
  for (const char* path : {"/", "/a", "/a/", "/a-b.c", "/.well-known/acme", "/a/...", "/a/..b/.c"})
    CHECK(is_path_prefix(path));
  for (const char* path : {"", "a", "/a?b", "/a#b", "//", "/a%20", "/../a", "/./a", "/a/..", "/a/.",
                           "/.a/../b", "/a b", "/a;b", "/a\\b"})
    CHECK_FALSE(is_path_prefix(path));
}

TEST_CASE("Routes overlap when a request could be either's") {
  CHECK(overlaps({{}, "/"}, {{}, "/"}));
  CHECK(overlaps({{"a", "b"}, "/x"}, {{"b"}, "/x"}));
  CHECK_FALSE(overlaps({{"a"}, "/"}, {{}, "/"}));
  CHECK_FALSE(overlaps({{"a"}, "/"}, {{"b"}, "/"}));
  CHECK_FALSE(overlaps({{}, "/a"}, {{}, "/b"}));
}

}  // namespace prophecy::sketcher

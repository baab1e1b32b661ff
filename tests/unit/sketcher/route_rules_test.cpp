#include <catch2/catch.hpp>

#include "sketcher/core/policy/prefix_rewrite.hpp"
#include "sketcher/core/policy/redirect.hpp"

namespace prophecy::sketcher {
namespace {

std::string rewritten(const PrefixRewrite& rewrite, std::string target) {
  return rewrite.apply(target) ? target : "refused";
}

std::string restored(const PrefixRewrite& rewrite, std::string_view reference) {
  return rewrite.restore(reference, "https", "a.example").value_or("as it is");
}

struct Routes {
  std::vector<RoutePattern> patterns;
  std::vector<std::optional<Redirect>> redirects;

  [[nodiscard]] std::string loop(std::size_t start) const {
    std::vector<RedirectingRoute> routes;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      routes.push_back({&patterns[i], redirects[i] ? &*redirects[i] : nullptr});
    return find_loop(routes, Router(patterns), start).value_or("none");
  }
};

Redirect to_path(std::string prefix) {
  Redirect redirect;
  redirect.path_prefix = std::move(prefix);
  return redirect;
}

Redirect to_place(std::string scheme, std::string host) {
  Redirect redirect;
  redirect.scheme = std::move(scheme);
  redirect.authority = std::move(host);
  return redirect;
}

}  // namespace

TEST_CASE("A prefix is replaced at a segment's end, and the query stays") {
  const PrefixRewrite rewrite("/a", "/x/y");
  CHECK(rewritten(rewrite, "/a") == "/x/y");
  CHECK(rewritten(rewrite, "/a/") == "/x/y/");
  CHECK(rewritten(rewrite, "/a/b?q=/a") == "/x/y/b?q=/a");
  CHECK(rewritten(rewrite, "/a?q") == "/x/y?q");
  CHECK(rewritten(PrefixRewrite("/a", "/"), "/a") == "/");
  CHECK(rewritten(PrefixRewrite("/a", "/"), "/a?q") == "/?q");
  CHECK(rewritten(PrefixRewrite("/a", "/"), "/a/b") == "/b");
  CHECK(rewritten(PrefixRewrite("/", "/x"), "/") == "/x/");
  CHECK(rewritten(PrefixRewrite("/", "/x"), "/b") == "/x/b");
}

TEST_CASE("A rewritten path that an origin may read as one elsewhere is refused") {
  const PrefixRewrite rewrite("/", "/app");
  for (const char* target :
       {"/../etc", "/%2e%2e/etc", "/b/../../etc?q", "/%252e%252e/etc", "/..;/etc", "/..\\etc"}) {
    INFO(target);
    CHECK(rewritten(rewrite, target) == "refused");
  }
  CHECK(rewritten(rewrite, "/b/../c") == "/app/b/../c");
  CHECK(rewritten(rewrite, "/%61") == "/app/%61");
}

TEST_CASE("References in answers are changed back where they lead into the prefix") {
  const PrefixRewrite rewrite("/a", "/app");
  CHECK(restored(rewrite, "/app/x?q#f") == "/a/x?q#f");
  CHECK(restored(rewrite, "/app") == "/a");
  CHECK(restored(rewrite, "https://a.example/app/x") == "https://a.example/a/x");
  CHECK(restored(rewrite, "HTTPS://A.example:443/app/x") == "HTTPS://A.example:443/a/x");
  for (const char* reference :
       {"/apple", "/other", "x", "../x", "http://a.example/app", "https://b.example/app",
        "//a.example/app", "https://a.example", ""}) {
    INFO(reference);
    CHECK(restored(rewrite, reference) == "as it is");
  }
  CHECK(restored(PrefixRewrite("/a", "/"), "/x") == "/a/x");
}

TEST_CASE("A path that is changed back leads to no other host") {
  const PrefixRewrite rewrite("/", "/app");
  CHECK(restored(rewrite, "/app//evil.example/dir/?q") == "https://a.example//evil.example/dir/?q");
  CHECK(restored(rewrite, "/app/\\evil.example/") == "https://a.example/\\evil.example/");
  CHECK(restored(rewrite, "/app/\t/evil.example/") == "https://a.example/\t/evil.example/");
  CHECK(restored(rewrite, "https://a.example/app//b/") == "https://a.example//b/");
  CHECK(restored(rewrite, "/app/x//y") == "/x//y");
  CHECK(restored(PrefixRewrite("/a", "/app"), "/app//b") == "/a//b");
}

TEST_CASE("A redirect changes what it names, and leaves requests that are there already") {
  const auto url = [](const Redirect& redirect, const RedirectedTo& request) {
    const auto to = redirected(redirect, "/a", request);
    return to ? to->url() : "stays";
  };
  const RedirectedTo request{"http", "a.example:8080", "/a/b?q"};
  CHECK(url(to_place("https", ""), request) == "https://a.example/a/b?q");
  CHECK(url(to_place("https", "b.example:8443"), request) == "https://b.example:8443/a/b?q");
  CHECK(url(to_place("", "b.example"), request) == "http://b.example/a/b?q");
  CHECK(url(to_path("/new"), request) == "http://a.example:8080/new/b?q");
  CHECK(url(to_place("http", "a.example:8080"), request) == "stays");
  CHECK(url(to_place("https", "a.example"), {"https", "a.example", "/a"}) == "stays");
  CHECK(url(to_place("https", "[::1]"), {"http", "[::1]", "/a"}) == "https://[::1]/a");
  CHECK(url(to_path("/new"), {"http", "a.example", "*"}) == "stays");
}

TEST_CASE("Redirects that never end are found") {
  const RoutePattern a{{}, "/a"};
  const RoutePattern b{{}, "/b"};
  CHECK(Routes{{a, b}, {to_path("/b"), to_path("/a")}}.loop(0) ==
        "http://any-other-name/a -> http://any-other-name/b -> http://any-other-name/a");
  CHECK(Routes{{a, b}, {to_path("/b"), std::nullopt}}.loop(0) == "none");
  // It grows without an end.
  CHECK(Routes{{a}, {to_path("/a/a")}}.loop(0) != "none");
  // Only what lies below comes back.
  const RoutePattern deep{{}, "/b/c"};
  const Routes below{{a, deep}, {to_path("/b"), to_path("/a/c")}};
  CHECK(below.loop(0) == "none");
  CHECK(below.loop(1) != "none");
  // Back to the other scheme, and by a wildcard.
  const RoutePattern one{{"one.example"}, "/"};
  const RoutePattern two{{"*.two.example"}, "/"};
  CHECK(Routes{{one, two}, {to_place("https", ""), std::nullopt}}.loop(0) == "none");
  CHECK(Routes{{one, two}, {to_place("", "x.two.example"), to_place("", "one.example")}}.loop(1) !=
        "none");
  CHECK(Routes{{one, two}, {to_place("https", "x.two.example"), to_place("http", "one.example")}}
            .loop(0) != "none");
}

}  // namespace prophecy::sketcher

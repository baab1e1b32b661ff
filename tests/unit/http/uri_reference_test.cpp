#include "http/uri_reference.hpp"

#include <cstdint>

#include <catch2/catch.hpp>

namespace prophecy::http {
namespace {

constexpr std::size_t kBytesMax = 64;
const BaseUri kBase{.scheme = "http", .authority = "a", .target = "/b/c/d;p?q"};

std::string resolved(std::string_view reference, const BaseUri& base = kBase) {
  return resolve_at_same_origin(base, reference, kBytesMax).value_or("elsewhere");
}

}  // namespace

// The examples of RFC 3986, 5.4.1, and those of 5.4.2 that are at the same authority.
TEST_CASE("references lead where RFC 3986 says") {
  const std::pair<std::string_view, std::string_view> examples[] = {
      {"g", "/b/c/g"},
      {"./g", "/b/c/g"},
      {"g/", "/b/c/g/"},
      {"/g", "/g"},
      {"?y", "/b/c/d;p?y"},
      {"g?y", "/b/c/g?y"},
      {"#s", "/b/c/d;p?q"},
      {"g#s", "/b/c/g"},
      {"g?y#s", "/b/c/g?y"},
      {";x", "/b/c/;x"},
      {"g;x?y#s", "/b/c/g;x?y"},
      {"", "/b/c/d;p?q"},
      {".", "/b/c/"},
      {"./", "/b/c/"},
      {"..", "/b/"},
      {"../", "/b/"},
      {"../g", "/b/g"},
      {"../..", "/"},
      {"../../", "/"},
      {"../../g", "/g"},
      {"../../../g", "/g"},
      {"../../../../g", "/g"},
      {"/./g", "/g"},
      {"/../g", "/g"},
      {"g.", "/b/c/g."},
      {".g", "/b/c/.g"},
      {"g..", "/b/c/g.."},
      {"..g", "/b/c/..g"},
      {"./../g", "/b/g"},
      {"./g/.", "/b/c/g/"},
      {"g/./h", "/b/c/g/h"},
      {"g/../h", "/b/c/h"},
      {"g;x=1/./y", "/b/c/g;x=1/y"},
      {"g;x=1/../y", "/b/c/y"},
      {"g?y/./x", "/b/c/g?y/./x"},
      {"g?y/../x", "/b/c/g?y/../x"},
      {"g#s/./x", "/b/c/g"},
      {"g#s/../x", "/b/c/g"},
  };
  for (const auto& [reference, target] : examples) {
    INFO(reference);
    CHECK(resolved(reference) == target);
  }
}

TEST_CASE("only what is at the same scheme and authority counts") {
  CHECK(resolved("http://a/x") == "/x");
  CHECK(resolved("HTTP://A:80/x?y") == "/x?y");
  CHECK(resolved("//a/x/../y") == "/y");
  CHECK(resolved("http://a") == "/");
  CHECK(resolved("//a?y") == "/?y");
  CHECK(resolved("http://a//x/./y") == "//x/y");
  for (const std::string_view reference :
       {"http://b/x", "https://a/x", "//b/x", "//a:81/x", "http://u@a/x", "//", "///x", "http:",
        "http:g", "http:/g", "http:?q", "g:h", "ftp://a/x", ":x", "1a:b", "javascript:x"}) {
    INFO(reference);
    CHECK(resolved(reference) == "elsewhere");
  }
  const BaseUri secure{.scheme = "https", .authority = "a:8443", .target = "/"};
  CHECK(resolved("https://a:8443/x", secure) == "/x");
  CHECK(resolved("https://a/x", secure) == "elsewhere");
  CHECK(resolved("g:h/i", {.scheme = "http", .authority = "a", .target = "/"}) == "elsewhere");
  CHECK(resolved("./g:h") == "/b/c/g:h");
}

TEST_CASE("what no request can ask for, or what is too long, leads nowhere") {
  for (const std::string& reference :
       {std::string("a b"), std::string("a\tb"), std::string("a\\b"), std::string("a\x7f"),
        std::string("caf\xc3\xa9"), std::string("a\0b", 3), std::string("a, b")}) {
    INFO(reference);
    CHECK(resolved(reference) == "elsewhere");
  }
  CHECK(resolved("/" + std::string(kBytesMax - 1, 'x')) == "/" + std::string(kBytesMax - 1, 'x'));
  CHECK(resolved("/" + std::string(kBytesMax, 'x')) == "elsewhere");
  CHECK(resolved(std::string(kBytesMax - 4, 'x')) == "elsewhere");  // with what it is merged with
  CHECK(resolved("g", {.scheme = "http", .authority = "a", .target = "*"}) == "elsewhere");
}

TEST_CASE("whatever a reference is made of, it leads to one target, or nowhere") {
  constexpr std::string_view kAlphabet = "////....::??##aab@%\\h \x80";
  std::uint64_t random = 1;
  const auto draw = [&](std::size_t bound) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(random >> 33) % bound;
  };
  const auto draw_text = [&](std::size_t size_max) {
    std::string text;
    for (std::size_t size = draw(size_max); text.size() < size;)
      text.push_back(kAlphabet[draw(kAlphabet.size())]);
    return text;
  };
  int found = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string reference = (draw(4) == 0 ? "http://a" : "") + draw_text(20);
    const auto target = resolve_at_same_origin(kBase, reference, kBytesMax);
    if (!target) continue;
    ++found;
    INFO(reference << " -> " << *target);
    REQUIRE(target->starts_with('/'));
    REQUIRE(target->find_first_of("# \\\x80") == std::string::npos);
    const std::string path = target->substr(0, target->find('?')) + "/";
    REQUIRE(path.find("/./") == std::string::npos);
    REQUIRE(path.find("/../") == std::string::npos);
    // And from there it leads where it is.
    REQUIRE(resolved("http://a" + *target) == *target);
    REQUIRE(resolved("", {.scheme = "http", .authority = "a", .target = *target}) == *target);
  }
  CHECK(found > 20'000);
}

}  // namespace prophecy::http

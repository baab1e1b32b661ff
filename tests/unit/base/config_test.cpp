#include "base/config.hpp"

#include <functional>

#include <catch2/catch.hpp>

namespace prophecy {
namespace {

using namespace std::chrono_literals;

// Reads `text` with `read` and yields what finish() says, "" for nothing.
std::string mistakes(const std::string& text, const std::function<void(ConfigSection)>& read) {
  auto file = ConfigFile::parse(text, "f.toml");
  if (!file) return file.error().message;
  read(file->root());
  const auto finished = file->finish();
  if (finished) return "";
  CHECK(finished.error().kind == ErrorKind::invalid);
  return finished.error().message;
}

template <class Read>
auto value(const std::string& text, Read read) {
  auto file = ConfigFile::parse(text, "f.toml");
  REQUIRE(file.has_value());
  auto result = read(file->root());
  const auto finished = file->finish();
  INFO((finished ? "" : finished.error().message));
  REQUIRE(finished.has_value());
  return result;
}

}  // namespace

TEST_CASE("each accessor reads what it should") {
  CHECK(value("k = \"v\"", [](auto s) { return s.text("k"); }) == "v");
  CHECK(value("k = \"b\"", [](auto s) { return s.choice("k", {"a", "b"}); }) == 1);
  CHECK(value("k = 7", [](auto s) { return s.number("k", 7, 9); }) == 7);
  CHECK(value("k = true", [](auto s) { return s.flag("k"); }));
  CHECK_FALSE(value("k = false", [](auto s) { return s.flag("k"); }));
  CHECK(value("k = 0.5", [](auto s) { return s.fraction("k"); }) == 0.5);
  CHECK(value("k = 1", [](auto s) { return s.fraction("k"); }) == 1.0);
  CHECK(value("k = \"16 KiB\"", [](auto s) { return s.bytes("k", 0, 1 << 20); }) == 16384);
  CHECK(value("k = \"512B\"", [](auto s) { return s.bytes("k", 0, 1 << 20); }) == 512);
  CHECK(value("k = \"250us\"", [](auto s) { return s.duration("k", 0s, 1h); }) == 250us);
  CHECK(value("k = \"1h\"", [](auto s) { return s.duration("k", 0s, 1h); }) == 1h);
  CHECK(value("k = \"[::1]:80\"", [](auto s) { return s.endpoint("k"); }) == Endpoint{"::1", 80});
  CHECK(value("k = [\"127.0.0.1:1\"]", [](auto s) { return s.endpoints("k"); }) ==
        std::vector<Endpoint>{{"127.0.0.1", 1}});
  CHECK(value("k = [\"a\", \"b\"]", [](auto s) { return s.texts("k"); }) ==
        std::vector<std::string>{"a", "b"});
  CHECK(value("k = \"/x\"", [](auto s) { return s.path("k"); }) == "/x");
}

TEST_CASE("fallbacks stand in for absent keys only") {
  CHECK(value("", [](auto s) { return s.text("k", "f"); }) == "f");
  CHECK(value("", [](auto s) { return s.choice("k", {"a", "b"}, 1); }) == 1);
  CHECK(value("", [](auto s) { return s.number("k", 0, 9, 5); }) == 5);
  CHECK(value("", [](auto s) { return s.flag("k", true); }));
  CHECK(value("", [](auto s) { return s.fraction("k", 0.25); }) == 0.25);
  CHECK(value("", [](auto s) { return s.bytes("k", 0, 9, 5); }) == 5);
  CHECK(value("", [](auto s) { return s.duration("k", 0s, 9s, 5s); }) == 5s);
  CHECK(value("", [](auto s) { return s.endpoint("k", Endpoint{"::", 1}); }) == Endpoint{"::", 1});
  CHECK(value("", [](auto s) { return s.texts("k", std::vector<std::string>{"x"}); }).size() == 1);
  CHECK(value("", [](auto s) { return s.path("k", "p"); }) == "p");
  CHECK_FALSE(mistakes("k = 1", [](auto s) { (void)s.text("k", "f"); }).empty());
}

TEST_CASE("each accessor names file, line and key of a mistake") {
  struct Case {
    const char* value;
    std::function<void(ConfigSection)> read;
  };
  const std::vector<Case> cases = {
      {"1", [](auto s) { (void)s.text("k"); }},
      {"\"c\"",
       [](auto s) {
         (void)s.choice("k", {"a", "b"});
       }},
      {"1",
       [](auto s) {
         (void)s.choice("k", {"a", "b"});
       }},
      {"6", [](auto s) { (void)s.number("k", 7, 9); }},
      {"10", [](auto s) { (void)s.number("k", 7, 9); }},
      {"-1", [](auto s) { (void)s.number("k", 0, UINT64_MAX); }},
      {"7.5", [](auto s) { (void)s.number("k", 7, 9); }},
      {"\"7\"", [](auto s) { (void)s.number("k", 7, 9); }},
      {"1", [](auto s) { (void)s.flag("k"); }},
      {"'true'", [](auto s) { (void)s.flag("k"); }},
      {"1.5", [](auto s) { (void)s.fraction("k"); }},
      {"-0.1", [](auto s) { (void)s.fraction("k"); }},
      {"nan", [](auto s) { (void)s.fraction("k"); }},
      {"16", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"16\"", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"KiB\"", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"-1KiB\"", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"2 KB\"", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"2MiB\"", [](auto s) { (void)s.bytes("k", 0, 1 << 20); }},
      {"\"99999999999999999999GiB\"", [](auto s) { (void)s.bytes("k", 0, UINT64_MAX); }},
      {"\"99999999999999GiB\"", [](auto s) { (void)s.bytes("k", 0, UINT64_MAX); }},
      {"5", [](auto s) { (void)s.duration("k", 0s, 9s); }},
      {"\"5\"", [](auto s) { (void)s.duration("k", 0s, 9s); }},
      {"\"10s\"", [](auto s) { (void)s.duration("k", 0s, 9s); }},
      {"\"1d\"", [](auto s) { (void)s.duration("k", 0s, 9h); }},
      {"\"localhost:80\"", [](auto s) { (void)s.endpoint("k"); }},
      {"80", [](auto s) { (void)s.endpoint("k"); }},
      {"[\"x\"]", [](auto s) { (void)s.endpoints("k"); }},
      {"\"127.0.0.1:1\"", [](auto s) { (void)s.endpoints("k"); }},
      {"[1]", [](auto s) { (void)s.texts("k"); }},
      {"\"\"", [](auto s) { (void)s.path("k"); }},
      {"1", [](auto s) { (void)s.path("k"); }},
      {"1", [](auto s) { (void)s.section("k"); }},
      {"1", [](auto s) { (void)s.sections("k"); }},
      {"[1]", [](auto s) { (void)s.sections("k"); }},
  };
  for (const Case& c : cases) {
    INFO(c.value);
    const std::string said = mistakes("# a comment\n\nk = " + std::string(c.value), c.read);
    CHECK(said.starts_with("f.toml:3: k: expected "));
    CHECK(said.find('\n') == std::string::npos);
  }
}

TEST_CASE("missing keys are mistakes of their table") {
  const auto read = [](ConfigSection root) {
    ConfigSection inner = root.section("inner");
    (void)inner.text("a");
    (void)inner.number("b", 0, 1);
  };
  const std::string said = mistakes("x = 1\n[inner]\nc = 2\n", [&](ConfigSection root) {
    (void)root.number("x", 0, 1);
    read(root);
  });
  CHECK(said.find("f.toml:2: inner.a: missing; expected a string") != std::string::npos);
  CHECK(said.find("f.toml:2: inner.b: expected a whole number") != std::string::npos);
  CHECK(said.find("f.toml:3: inner.c: unknown key") != std::string::npos);
}

TEST_CASE("unknown keys are found at every depth") {
  const std::string said =
      mistakes("a = 1\n[s]\nb = 1\n[[l]]\nc = 1\n[[l]]\nd = 1\n[u]\ne = 1\n", [](auto root) {
        (void)root.section("s");
        for (ConfigSection each : root.sections("l"))
          (void)each.number("c", 0, 1, 0);
      });
  CHECK(said.find("f.toml:1: a: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:3: s.b: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:7: l.d: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:8: u: unknown key") != std::string::npos);
  CHECK(said.find("l.c") == std::string::npos);
}

TEST_CASE("text that is not TOML, and a check across keys") {
  CHECK(mistakes("a = 1\nb = = 2\n", [](auto) {}).starts_with("f.toml:2: "));
  CHECK(mistakes("a = 1\n", [](auto s) {
          (void)s.number("a", 0, 9);
          s.mistake("a", "less than b");
        }) == "f.toml:1: a: less than b");
}

}  // namespace prophecy

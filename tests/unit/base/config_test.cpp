#include "base/config/config.hpp"

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

TEST_CASE("each accessor names file, line, column and key of a mistake") {
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
    CHECK(said.starts_with("f.toml:3:"));
    CHECK(said.find(": k: expected ") != std::string::npos);
    CHECK(said.find(", found ") != std::string::npos);
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
  CHECK(said.find("f.toml:2:1: inner.a: expected a text in quotes, found nothing") !=
        std::string::npos);
  CHECK(said.find("f.toml:2:1: inner.b: expected a whole number") != std::string::npos);
  CHECK(said.find("f.toml:3:1: inner.c: unknown key") != std::string::npos);
}

TEST_CASE("a misspelt name is one mistake: nothing is missing beside it") {
  const auto read = [](ConfigSection root) {
    (void)root.number("faults", 1, 21);
    ConfigSection store = root.section("storage");
    (void)store.path("folder");
    (void)store.section("keys").text("file");
  };
  CHECK(mistakes("fautls = 1\nstorage = { folder = \"x\", keys = { file = \"y\" } }\n", read) ==
        "f.toml:1:1: fautls: unknown key; did you mean \"faults\"?");
  CHECK(mistakes("faults = 1\n[storge]\nfolder = \"x\"\n", read) ==
        "f.toml:2:2: storge: unknown key; did you mean \"storage\"?");
  CHECK(mistakes("faults = 1\n[[storage]]\nfolder = \"x\"\n", read) ==
        "f.toml:2:1: storage: expected one table, [storage], found a list of tables");
  // Another one is missing all the same.
  CHECK_THAT(mistakes("fautls = 1\n", read),
             Catch::Contains("storage.folder") && !Catch::Contains(": faults:"));
}

TEST_CASE("unknown keys are found at every depth") {
  const std::string said =
      mistakes("a = 1\n[s]\nb = 1\n[[l]]\nc = 1\n[[l]]\nd = 1\n[u]\ne = 1\n", [](auto root) {
        (void)root.section("s");
        for (ConfigSection each : root.sections("l"))
          (void)each.number("c", 0, 1, 0);
      });
  CHECK(said.find("f.toml:1:1: a: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:3:1: s.b: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:7:1: l.d: unknown key") != std::string::npos);
  CHECK(said.find("f.toml:8:2: u: unknown key") != std::string::npos);
  CHECK(said.find("l.c") == std::string::npos);
}

TEST_CASE("text that is not TOML, and a check across keys") {
  CHECK(mistakes("b = = 2\n", [](auto) {}).starts_with("f.toml:1:5: b: expected a value of TOML"));
  CHECK(mistakes("a = 1\n", [](auto s) {
          (void)s.number("a", 0, 9);
          s.mistake("a", "less than b");
        }) == "f.toml:1:5: a: less than b");
}

namespace {

void read_limits(ConfigSection root) {
  ConfigSection limits = root.section({"limits", "What may be held."});
  (void)limits.bytes({"body", "Of a request."}, 0, 1 << 30, 1 << 20);
  (void)limits.bytes({"header", "Of a request."}, 0, 1 << 30, 1 << 10);
  (void)limits.duration({"wait", "For a request."}, 0s, 1h, 5s);
  for (ConfigSection listener : root.sections({"listener", "Any number."})) {
    (void)listener.endpoint({"address", "Where to listen."});
    (void)listener.texts({"names", "Its names."}, std::vector<std::string>{});
    if (auto tls = listener.when(listener.has("key"), "`key` is there")) {
      (void)tls->path(Key{"key", "A file."}.otherwise("none").reloaded());
    }
  }
}

// The lines of what is wrong in `text`.
std::string mistakes_of_limits(const std::string& text) {
  return mistakes(text, read_limits);
}

}  // namespace

TEST_CASE("a misspelt key gets the nearest one of its table") {
  CHECK(mistakes_of_limits("[limits]\nbdoy = \"1KiB\"\n") ==
        "f.toml:2:1: limits.bdoy: unknown key; did you mean \"body\"?");
  CHECK(mistakes_of_limits("[limit]\n") ==
        "f.toml:1:2: limit: unknown key; did you mean \"limits\"?");
  CHECK(mistakes_of_limits("[[listeners]]\n") ==
        "f.toml:1:3: listeners: unknown key; did you mean \"listener\"?");
  CHECK(mistakes_of_limits("[limits]\ncolour = 1\n") ==
        "f.toml:2:1: limits.colour: unknown key; expected one of body, header, wait");
  CHECK(mistakes_of_limits("header = \"1KiB\"\n") ==
        "f.toml:1:1: header: unknown key; did you mean the one of [limits]?");
}

TEST_CASE("wrong units, values out of bounds, and tables of the wrong kind, each in one line") {
  CHECK(
      mistakes_of_limits("[limits]\nbody = \"2GiB\"\nheader = \"1KB\"\nwait = 5\n") ==
      "f.toml:2:8: limits.body: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" to "
      "\"1GiB\", found \"2GiB\"\n"
      "f.toml:3:10: limits.header: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" to "
      "\"1GiB\", found \"1KB\"\n"
      "f.toml:4:8: limits.wait: expected a time with its unit (us, ms, s, m, h) from \"0us\" to "
      "\"1h\", found 5");
  CHECK(mistakes_of_limits("[[limits]]\n[listener]\n") ==
        "f.toml:1:1: limits: expected one table, [limits], found a list of tables\n"
        "f.toml:2:1: listener: expected tables, [[listener]], found a table");
}

TEST_CASE("a syntax error hides nothing that comes after it") {
  CHECK(mistakes_of_limits("[limits]\nbody = 16 MiB\nwait = \"1d\"\n[limits]\nheader = 1\n"
                           "[[listener]]\naddress = \"127.0.0.1:1\"\naddress = \"127.0.0.1:2\"\n"
                           "names = [\"a\", 1]\n") ==
        "f.toml:2:11: limits.body: expected a value of TOML (a text stands in quotes), found \"16 "
        "MiB\"\n"
        "f.toml:3:8: limits.wait: expected a time with its unit (us, ms, s, m, h) from \"0us\" to "
        "\"1h\", found \"1d\"\n"
        "f.toml:4:1: limits: expected one table or one list of tables of this name, found another "
        "\"[limits]\"\n"
        "f.toml:8:1: listener.address: expected this key once, found it again\n"
        "f.toml:9:15: listener.names: expected a list of texts only, found 1");
  CHECK(mistakes_of_limits("[limits\n").starts_with("f.toml:1:"));
  CHECK(mistakes_of_limits("[limits]\nbody = [\n").starts_with("f.toml:"));
}

TEST_CASE("a key that is required is not missing where its line is broken") {
  CHECK(mistakes_of_limits("[[listener]]\naddress = 127.0.0.1:1\n").find('\n') ==
        std::string::npos);
}

TEST_CASE("the configuration in effect has all defaults, and reads as itself") {
  const auto dump = [](const std::string& text) {
    auto file = ConfigFile::parse(text, "f.toml");
    REQUIRE(file.has_value());
    read_limits(file->root());
    REQUIRE(file->finish().has_value());
    return file->dump();
  };
  const std::string whole = dump(
      "[limits]\nbody = \"2048 B\"\n[[listener]]\naddress = \"[0::1]:1\"\nnames = "
      "[\"\\\"\\u0001\"]\n"
      "[[listener]]\naddress = \"127.0.0.1:2\"\nkey = \"/k\"\n");
  CHECK(whole ==
        "[limits]\nbody = \"2KiB\"\nheader = \"1KiB\"\nwait = \"5s\"\n\n"
        "[[listener]]\naddress = \"[::1]:1\"\nnames = [\"\\\"\\u0001\"]\n\n"
        "[[listener]]\naddress = \"127.0.0.1:2\"\nnames = []\nkey = \"/k\"\n");
  CHECK(dump(whole) == whole);
  CHECK(dump("listener = []\n") == "[limits]\nbody = \"1MiB\"\nheader = \"1KiB\"\nwait = \"5s\"\n");
}

TEST_CASE("the schema has every setting, without a document") {
  ConfigFile file = ConfigFile::schema();
  read_limits(file.root());
  CHECK(file.finish().has_value());
  const std::string schema = file.describe();
  CHECK(schema.find("heading = \"[limits]\"\nhelp = \"What may be held.\"") != std::string::npos);
  CHECK(schema.find("name = \"body\"\ntype = \"size\"\nbounds = \"0B to 1GiB\"\n"
                    "default = \"\\\"1MiB\\\"\"\nreload = \"restart\"\nhelp = \"Of a request.\"") !=
        std::string::npos);
  CHECK(schema.find("heading = \"[[listener]]\"") != std::string::npos);
  CHECK(schema.find("name = \"key\"\ntype = \"path\"\ndefault = \"none\"\n"
                    "condition = \"`key` is there\"\nreload = \"file\"") != std::string::npos);
}

}  // namespace prophecy

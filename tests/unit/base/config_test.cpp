#include "base/config/config.hpp"

#include <algorithm>
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
  CHECK(said.find("f.toml:2:1: inner.a: expected a string in quotes, found nothing") !=
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
  CHECK(mistakes("faults = 1\n[[storage]]\nfolder = \"x\"\nkeys.file = \"y\"\n", read) ==
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
  CHECK(mistakes("b = = 2\n", [](auto) {}).starts_with("f.toml:1:5: b: expected a TOML value"));
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
  CHECK(mistakes_of_limits("\"\" = 1\n") ==
        "f.toml:1:1: \"\": unknown key; expected one of limits, listener");
}

TEST_CASE("a key above all tables gets each table that has it") {
  const auto read = [](ConfigSection root) {
    (void)root.section("limits").number("body", 0, 9, 0);
    (void)root.section("limits").section("wait").number("body", 0, 9, 0);
    for (ConfigSection group : root.sections("group"))
      (void)group.number("body", 0, 9, 0);
  };
  CHECK(mistakes("body = 1\n[[group]]\n[[group]]\n", read) ==
        "f.toml:1:1: body: unknown key; did you mean the one of [limits], [limits.wait] or "
        "[[group]]?");
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

TEST_CASE("a table of the wrong kind hides nothing of what it holds") {
  CHECK(mistakes_of_limits("[[limits]]\nbody = 5\n[[limits]]\nhedaer = 1\n"
                           "[listener]\nadress = \"127.0.0.1:1\"\nnames = 1\n") ==
        "f.toml:1:1: limits: expected one table, [limits], found a list of tables\n"
        "f.toml:2:8: limits.body: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" to "
        "\"1GiB\", found 5\n"
        "f.toml:4:1: limits.hedaer: unknown key; did you mean \"header\"?\n"
        "f.toml:5:1: listener: expected tables, [[listener]], found a table\n"
        "f.toml:6:1: listener.adress: unknown key; did you mean \"address\"?\n"
        "f.toml:7:9: listener.names: expected a list of strings, [\"...\"], found 1");
}

TEST_CASE("a number that TOML does not take is out of its setting's bounds") {
  const auto read = [](ConfigSection root) {
    ConfigSection worker = root.section("worker");
    (void)worker.number("count", 1, UINT64_MAX, 1);
    (void)worker.text("name", "w");
    (void)worker.choice("kind", {"a", "b"}, 0);
    (void)worker.texts("list", std::vector<std::string>{});
    (void)worker.fraction("share", 0.5);
  };
  CHECK(mistakes("[worker]\ncount = 99999999999999999999  # many\nname = 007\n"
                 "kind = -99999999999999999999\nlist = 99999999999999999999\n"
                 "share = 1_00000000000000000000\ncuont = 99999999999999999999\n",
                 read) ==
        "f.toml:2:9: worker.count: expected a whole number from 1 to 18446744073709551615, found "
        "99999999999999999999\n"
        "f.toml:3:8: worker.name: expected a string in quotes, found 007\n"
        "f.toml:4:8: worker.kind: expected one of \"a\", \"b\", found -99999999999999999999\n"
        "f.toml:5:8: worker.list: expected a list of strings, [\"...\"], found "
        "99999999999999999999\n"
        "f.toml:6:9: worker.share: expected a number from 0 to 1, found 1_00000000000000000000\n"
        "f.toml:7:1: worker.cuont: unknown key; did you mean \"count\"?");
  // The error is in the key.
  CHECK_THAT(mistakes("count. = 5\n", read), Catch::Contains("found \"5\""));
  std::string many = "[worker]\n";
  for (int i = 0; i < 100; ++i)
    many += "key-" + std::to_string(i) + " = 99999999999999999999\n";
  CHECK_THAT(mistakes(many, read), Catch::Contains("too many errors to read on"));
}

TEST_CASE("names with many dots between them are one mistake, not a deep document") {
  std::string deep = "a";
  for (int i = 0; i < 50'000; ++i)
    deep += ".a";
  const std::string expected = "expected at most 16 names with dots between them, found 50001";
  const std::string after = "[limits]\nheader = 1\n";
  const std::string header =
      "limits.header: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" to \"1GiB\", "
      "found 1";
  const std::string all = "f.toml:1:1: " + expected + "\nf.toml:3:10: " + header;
  for (const std::string& text :
       {deep + " = 1\n", "[" + deep + "]\n", "[[" + deep + "]]\n", "x = { " + deep + " = 1 }\n",
        "x = [\"\"\"\"a\"\"\"\", { " + deep + " = 1 }]\n"})
    CHECK(mistakes_of_limits(text + after) == all);
  // Other dots are not between names.
  CHECK(mistakes_of_limits("listener = [{ address = \"127.0.0.1:1\", names = [\n\"\"\"" + deep +
                           "\"\"\", # " + deep + "\n'" + deep + "'] }]\n") == "");
}

TEST_CASE("a syntax error hides nothing that comes after it") {
  CHECK(mistakes_of_limits("[limits]\nbody = 16 MiB\nwait = \"1d\"\n[limits]\nheader = 1\n"
                           "[[listener]]\naddress = \"127.0.0.1:1\"\naddress = \"127.0.0.1:2\"\n"
                           "names = [\"a\", 1]\n") ==
        "f.toml:2:11: limits.body: expected a TOML value (strings stand in quotes), found \"16 "
        "MiB\"\n"
        "f.toml:3:8: limits.wait: expected a time with its unit (us, ms, s, m, h) from \"0us\" to "
        "\"1h\", found \"1d\"\n"
        "f.toml:4:1: limits: expected one table or one list of tables of this name, found another "
        "\"[limits]\"\n"
        "f.toml:5:10: limits.header: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" "
        "to \"1GiB\", found 1\n"
        "f.toml:8:1: listener.address: expected this key once, found it again\n"
        "f.toml:9:15: listener.names: expected strings only in this list, found 1");
}

TEST_CASE("a heading or a line that is broken hides nothing that comes after it") {
  const std::string after = "body = \"1KB\"\n";
  const std::string found = "limits.body: expected a size";
  for (const char* heading : {"[limits\n", "[[limits]\n", "limits]\n[limits]\n", "[]\n[limits]\n",
                              "what is this\n[limits]\n", "\001\n[limits]\n"}) {
    INFO(heading);
    const std::string said = mistakes_of_limits(heading + after);
    CHECK_THAT(said, Catch::StartsWith("f.toml:1:"));
    CHECK_THAT(said, Catch::Contains(heading[1] == '[' ? "[[limits]" : found));
  }
  // The name of the table is lost: it may be the one that has to be there.
  const auto read = [](ConfigSection root) { (void)root.section("storage").path("folder"); };
  CHECK(mistakes("[stor age]\nfolder = \"x\"\n", read).find('\n') == std::string::npos);
  CHECK(mistakes("[storage]\nfolder: \"x\"\n", read) ==
        "f.toml:2:7: expected a heading, or KEY = VALUE, found \"folder: \"x\"\"");
}

TEST_CASE("a value of several lines that is broken hides nothing that comes after it") {
  const std::string after = "[limits]\nwait = \"1d\"\n";
  const std::string wait =
      "limits.wait: expected a time with its unit (us, ms, s, m, h) from \"0us\" to \"1h\", found "
      "\"1d\"";
  const std::string listener = "[[listener]]\naddress = \"127.0.0.1:1\"\n";
  CHECK(mistakes_of_limits(listener + "names = [\n  \"a\",\n  b,\n]\n" + after) ==
        "f.toml:5:3: listener.names: expected a TOML value (strings stand in quotes), found "
        "\"b,\"\nf.toml:8:8: " +
            wait);
  CHECK(mistakes_of_limits(listener + "names = [ \"a\",\n" + after) ==
        "f.toml:3:9: listener.names: expected the end of this value, found \"[limits]\" in line "
        "4\nf.toml:5:8: " +
            wait);
  CHECK(mistakes_of_limits(after + listener + "names = \"\"\"\nabc\n") ==
        "f.toml:2:8: " + wait +
            "\nf.toml:5:9: listener.names: expected the end of this value, found the end of the "
            "file");
}

TEST_CASE("a second table of one name is read as if it stood in the first one") {
  const auto read = [](ConfigSection root) {
    ConfigSection store = root.section("storage");
    (void)store.path("folder");
    (void)store.number("count", 1, 9, 1);
    for (ConfigSection disk : root.sections("disk"))
      (void)disk.section("limits").number("count", 1, 9);
  };
  const std::string second =
      ": expected one table or one list of tables of this name, found another ";
  CHECK(mistakes("storage.count = 1\n[storage]\nfolder = \"x\"\n", read) ==
        "f.toml:2:1: storage" + second + "\"[storage]\"");
  CHECK(mistakes("[storage]\nfolder = \"x\"\n[storage]\nfoldr = 1\nfolder = \"y\"\ncount = 0\n",
                 read) ==
        "f.toml:3:1: storage" + second +
            "\"[storage]\"\n"
            "f.toml:4:1: storage.foldr: unknown key; did you mean \"folder\"?\n"
            "f.toml:5:1: storage.folder: expected this key once, found it again\n"
            "f.toml:6:9: storage.count: expected a whole number from 1 to 9, found 0");
  // A value, not a table.
  const std::string no_value = ": expected a heading whose names are not those of values, found ";
  CHECK(mistakes("[storage]\nfolder = \"x\"\n[storage.folder]\nx = 1\n", read) ==
        "f.toml:3:1: storage.folder" + no_value + "\"[storage.folder]\"");
  CHECK(mistakes("storage = { folder = \"x\" }\n[storage.more]\n[[disk]]\nlimits.count = 0\n",
                 read) == "f.toml:2:1: storage.more" + no_value +
                              "\"[storage.more]\"\n"
                              "f.toml:4:16: disk.limits.count: expected a whole number from 1 to "
                              "9, found 0");
  CHECK(mistakes("disk = \"x\"\nstorage.folder = \"x\"\n\n[[disk.limits]]\ncount = 1\n", read) ==
        "f.toml:1:8: disk: expected tables, [[disk]], found \"x\"\n"
        "f.toml:4:1: disk.limits" +
            no_value + "\"[[disk.limits]]\"");
  // Of a list, the table above.
  CHECK(mistakes("storage.folder = \"x\"\n[[disk]]\n[disk.limits]\n[disk.limits]\ncount = 1\n"
                 "[[disk]]\n[disk.limits]\ncount = 1\n",
                 read) == "f.toml:4:1: disk.limits" + second + "\"[disk.limits]\"");
}

TEST_CASE("what a message shows of a file is one line of UTF-8, and short") {
  CHECK(mistakes_of_limits("\"a\\nf.toml: in order\" = 1\n")
            .starts_with("f.toml:1:1: a\\u000Af.toml: in order: unknown key"));
  CHECK(mistakes_of_limits("\"\\u001b[2J\" = 1\n").starts_with("f.toml:1:1: \\u001B[2J: unknown"));
  CHECK(mistakes_of_limits("limits.body = \"\\u202E\"\n").ends_with("found \"\\u202E\""));
  CHECK(mistakes_of_limits(std::string("limits.wait = \"a\0b\"\n", 20))
            .ends_with("found \"\"a\\u0000b\"\""));
  CHECK(mistakes_of_limits(std::string(5000, 'k') + " = 1\n").size() < 300);
  CHECK(mistakes_of_limits("limits.body = " + std::string(5000, '[') + "\n").size() < 300);
  // Whole letters of two bytes each.
  std::string letters;
  for (int i = 0; i < 100; ++i)
    letters += "\u00e4";
  CHECK(mistakes_of_limits("limits.body = \"a" + letters + "\"\n")
            .ends_with("found \"a" + letters.substr(0, 78) + "...\""));
}

TEST_CASE("bytes that are no UTF-8 are found where they are") {
  CHECK(mistakes_of_limits("[limits]\nbody = \"\xe4\"\nwait = \"1d\" # \xff\nheader = 1\n") ==
        "f.toml:2:9: limits.body: expected a file in UTF-8, found the byte 0xE4\n"
        "f.toml:3:15: limits.wait: expected a file in UTF-8, found the byte 0xFF\n"
        "f.toml:4:10: limits.header: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" "
        "to \"1GiB\", found 1");
  CHECK(mistakes_of_limits(std::string("\xff\xfe[\0l\0", 6)) ==
        "f.toml:1:1: expected a file in UTF-8, found UTF-16");
  CHECK(
      mistakes_of_limits("\xef\xbb\xbf[limits]\nbody = 1 2\n").starts_with("f.toml:2:10: limits."));
}

TEST_CASE("a message has a hundred lines at most") {
  std::string many;
  for (int i = 0; i < 150; ++i)
    many += "key-" + std::to_string(i) + " = 1\n";
  const std::string said = mistakes_of_limits(many);
  CHECK(std::count(said.begin(), said.end(), '\n') == 100);
  CHECK_THAT(said, Catch::EndsWith("\nf.toml: 50 more mistakes"));
  std::string broken;
  for (int i = 0; i < 100; ++i)
    broken += "key = = 1\n";
  CHECK_THAT(mistakes_of_limits(broken), Catch::Contains("too many errors to read on"));
}

namespace {

void read_group(ConfigSection root) {
  ConfigSection group = root.section("group");
  const std::size_t kind = group.choice("kind", {"pbft", "vote"}, 0);
  (void)group.choice("digest", {"sha1", "gmac"}, 0);
  if (auto pbft = group.when(kind == 0, "`kind` is `\"pbft\"`")) (void)pbft->path("file");
  if (auto vote = group.when(kind == 1, "`kind` is `\"vote\"`")) {
    (void)vote->number("faults", 1, 9, 1);
    (void)vote->section("canonical").flag("cookies", false);
  }
  if (group.has("metrics")) (void)group.endpoint("metrics");
}

std::string mistakes_of_group(const std::string& text) {
  auto file = ConfigFile::parse("[group]\n" + text, "f.toml");
  REQUIRE(file.has_value());
  read_group(file->root());
  const auto finished = file->finish(read_group);
  return finished ? "" : finished.error().message;
}

}  // namespace

TEST_CASE("a key that is read under a condition alone is known without it") {
  CHECK(mistakes_of_group("file = \"f\"\nmetrcs = \"127.0.0.1:1\"\n") ==
        "f.toml:3:1: group.metrcs: unknown key; did you mean \"metrics\"?");
  CHECK(mistakes_of_group("file = \"f\"\nfaults = 1\ncanonical = {}\n") ==
        "f.toml:3:1: group.faults: expected only where kind is \"vote\", found it here\n"
        "f.toml:4:1: group.canonical: expected only where kind is \"vote\", found it here");
}

TEST_CASE("a wrong choice is one mistake: what belongs to it is neither missing nor too much") {
  const std::string kind =
      "group.kind: expected one of \"pbft\", \"vote\", found \"vot\"; did you mean \"vote\"?";
  CHECK(mistakes_of_group("kind = \"vot\"\n") == "f.toml:2:8: " + kind);
  CHECK(mistakes_of_group("kind = \"vot\"\nfaults = 10\ncanonical = {}\n") ==
        "f.toml:2:8: " + kind +
            "\nf.toml:3:10: group.faults: expected a whole number from 1 to 9, found 10");
  // Another choice decides on nothing.
  CHECK(mistakes_of_group("digest = \"x\"\nfaults = 10\n") ==
        "f.toml:1:1: group.file: expected a path, found nothing\n"
        "f.toml:2:10: group.digest: expected one of \"sha1\", \"gmac\", found \"x\"\n"
        "f.toml:3:1: group.faults: expected only where kind is \"vote\", found it here");
}

TEST_CASE("lists, paths and shares") {
  const auto listeners = [](ConfigSection root) { (void)root.sections("listener"); };
  CHECK(mistakes("listener = [{}, 3]\n", listeners) ==
        "f.toml:1:17: listener: expected tables, [[listener]], found 3");
  CHECK(mistakes("listener = [1, 2]\n", listeners) ==
        "f.toml:1:13: listener: expected tables, [[listener]], found 1\n"
        "f.toml:1:16: listener: expected tables, [[listener]], found 2");
  // Below a misspelt [[listener]].
  CHECK(mistakes("[[listenr]]\n[[listener.certificate]]\n", listeners) ==
        "f.toml:1:3: listenr: unknown key; did you mean \"listener\"?");
  CHECK(mistakes("k = \"a\\u0000b\"\n", [](auto s) { (void)s.path("k"); }) ==
        "f.toml:1:5: k: expected a path, found \"a\\u0000b\"");
  CHECK(mistakes("k = inf\n", [](auto s) { (void)s.fraction("k"); }) ==
        "f.toml:1:5: k: expected a number from 0 to 1, found inf");
  const std::string path(108, 'x');
  CHECK(value("k = \"" + path.substr(1) + "\"\n", [](auto s) { return s.socket_path("k"); }) ==
        path.substr(1));
  CHECK(mistakes("k = \"" + path + "\"\n", [](auto s) { (void)s.socket_path("k"); }) ==
        "f.toml:1:5: k: expected a socket's path, of at most 107 bytes, found 108 bytes");
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

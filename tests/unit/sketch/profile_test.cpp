#include "canonical/profile.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "base/config/config.hpp"
#include "canonical/name_table.hpp"

namespace prophecy::sketch {
namespace {

// The mistakes in this [canonical] section, or "".
std::string mistakes(const std::string& lines) {
  auto file = ConfigFile::parse("[canonical]\n" + lines, "f.toml");
  REQUIRE(file.has_value());
  static_cast<void>(Profile::from_config(file->root().section("canonical")));
  const auto finished = file->finish();
  return finished ? "" : finished.error().message;
}

Profile canonical_profile(const std::string& lines) {
  auto file = ConfigFile::parse("[canonical]\n" + lines, "f.toml");
  REQUIRE(file.has_value());
  Profile profile = Profile::from_config(file->root().section("canonical"));
  REQUIRE(file->finish().has_value());
  return profile;
}

}  // namespace

TEST_CASE("the default rules") {
  const Profile profile;
  CHECK(profile.request_rule("authorization") == RequestRule::keyed);
  CHECK(profile.request_rule("user-agent") == RequestRule::forwarded);
  CHECK(profile.request_rule("host") == RequestRule::generated);
  CHECK(profile.request_rule("x-forwarded-whatever") == RequestRule::generated);
  // What a CGI program would take for one of these.
  CHECK(profile.request_rule("x_forwarded_for") == RequestRule::generated);
  CHECK(profile.request_rule("prophecy_time") == RequestRule::generated);
  CHECK(profile.request_rule("x-real_ip") == profile.request_rule("x-real-ip"));
  CHECK(profile.request_rule("some_thing") == RequestRule::dropped);
  CHECK(profile.request_rule("proxy-authorization") == RequestRule::hop_by_hop);
  CHECK(profile.request_rule("x-never-heard-of") == RequestRule::dropped);
  CHECK(profile.answer_rule("x-never-heard-of") == AnswerRule::covered);
  CHECK(profile.answer_rule("content-type") == AnswerRule::covered);
  CHECK(profile.answer_rule("etag") == AnswerRule::regenerated);
  CHECK(profile.answer_rule("x-accel-buffering") == AnswerRule::internal);
}

TEST_CASE("an absent section is the default") {
  auto file = ConfigFile::parse("", "f.toml");
  REQUIRE(file.has_value());
  CHECK(Profile::from_config(file->root().section("canonical")).id() == Profile().id());
}

TEST_CASE("additions change the rules and the id") {
  const Profile profile = canonical_profile(
      "keyed_headers = [\"X-Tenant\", \"user-agent\"]\nforwarded_headers = [\"x-trace\"]\n"
      "dropped_answer_headers = [\"X-Backend\", \"last-modified\"]\n");
  CHECK(profile.request_rule("x-tenant") == RequestRule::keyed);
  CHECK(profile.request_rule("user-agent") == RequestRule::keyed);
  CHECK_FALSE(profile.is_seen_unkeyed("user-agent"));
  CHECK(profile.request_rule("x-trace") == RequestRule::forwarded);
  CHECK(profile.is_seen_unkeyed("x-trace"));
  CHECK(profile.is_seen_unkeyed("prophecy-time"));
  CHECK(profile.answer_rule("x-backend") == AnswerRule::dropped);
  CHECK(profile.answer_rule("last-modified") == AnswerRule::dropped);
  CHECK(profile.id() != Profile().id());
}

TEST_CASE("the id depends on the rules, not on how they were written") {
  CHECK(canonical_profile("keyed_headers = [\"a\", \"b\"]").id() ==
        canonical_profile("keyed_headers = [\"B\", \"a\", \"b\"]").id());
  CHECK(canonical_profile("keyed_headers = [\"a\"]").id() !=
        canonical_profile("forwarded_headers = [\"a\"]").id());
  CHECK(canonical_profile("keyed_headers = [\"a\"]").id() !=
        canonical_profile("dropped_answer_headers = [\"a\"]").id());
  CHECK(canonical_profile("keyed_headers = [\"accept\"]").id() == Profile().id());
}

TEST_CASE("what may not be configured is said with its line") {
  CHECK(mistakes("keyed_headers = [\"x y\"]") ==
        "f.toml:2:18: canonical.keyed_headers: expected names of header fields, found \"x y\"");
  for (const char* name : {"Connection", "Host", "content-length", "x-forwarded-for", "via", "te",
                           "range", "if-none-match", "if-match", "accept-encoding", "prophecy-x",
                           "", "a:b", "transfer-encoding", "expect"}) {
    INFO(name);
    CHECK_FALSE(mistakes("keyed_headers = [\"" + std::string(name) + "\"]").empty());
    CHECK_FALSE(mistakes("forwarded_headers = [\"" + std::string(name) + "\"]").empty());
  }
  for (const char* name : {"cookie", "Authorization", "accept", "origin"}) {
    INFO(name);
    CHECK_FALSE(mistakes("forwarded_headers = [\"" + std::string(name) + "\"]").empty());
  }
  for (const char* name :
       {"Set-Cookie", "content-type", "Content-Security-Policy", "location", "vary",
        "cache-control", "strict-transport-security", "access-control-allow-origin",
        "cross-origin-embedder-policy", "x-accel-redirect", "connection", "date", "a b"}) {
    INFO(name);
    CHECK_FALSE(mistakes("dropped_answer_headers = [\"" + std::string(name) + "\"]").empty());
  }
  CHECK_FALSE(mistakes("keyed_headers = [\"x\"]\nforwarded_headers = [\"X\"]").empty());
  CHECK_FALSE(mistakes("keyed_header = [\"x\"]").empty());
  CHECK(mistakes("keyed_headers = [\"pragma\"]").empty());
}

TEST_CASE("the name table against a plain search, beyond its first size") {
  NameTable table;
  for (int i = 0; i < 1000; ++i) {
    table.set("name-" + std::to_string(i), static_cast<std::uint8_t>(i % 251));
  }
  for (int i = 0; i < 1000; ++i) {
    const auto* entry = table.find("name-" + std::to_string(i));
    REQUIRE(entry != nullptr);
    CHECK(entry->value == i % 251);
    CHECK(entry->number == i);
    CHECK(table.find("other-" + std::to_string(i)) == nullptr);
  }
  table.set("name-7", 9);
  CHECK(table.find("name-7")->value == 9);
  CHECK(table.find("name-7")->number == 7);
  const auto sorted = table.sorted();
  REQUIRE(sorted.size() == 1000);
  CHECK(std::is_sorted(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.name < b.name; }));
}

}  // namespace prophecy::sketch

#include "canonical/field_counters.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "base/config/config.hpp"
#include "forms.hpp"

namespace prophecy::sketch {
namespace {

using Counts = std::map<std::string, std::uint64_t>;

// What was counted, by "request NAME" or "answer NAME".
struct Counted {
  Counts all() const {
    Counts counts;
    const std::vector<RuleText> rules = profile.rules();
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string message = rules[i].in_answers ? "answer " : "request ";
      if (known[i].get() > 0) counts[message + rules[i].name] = known[i].get();
    }
    unknown.requests.for_each([&](std::string_view name, std::uint64_t count) {
      counts["request " + std::string(name)] = count;
    });
    unknown.answers.for_each([&](std::string_view name, std::uint64_t count) {
      counts["answer " + std::string(name)] = count;
    });
    return counts;
  }
  FieldCounters view() { return {.known = known, .unknown = &unknown}; }

  Profile profile;
  std::vector<Counter> known{profile.rule_count()};
  UnknownFields unknown;
};

constexpr std::string_view kHost = "Host: a\r\n";

std::string request_text(std::string_view method, std::string_view lines) {
  return std::string(method) + " / HTTP/1.1\r\n" + std::string(kHost) + std::string(lines) + "\r\n";
}

}  // namespace

TEST_CASE("what is taken out of a read is counted, what is passed on is not") {
  Counted counted;
  const MadeRequest made(
      counted.profile,
      request_text("GET",
                   "Accept: a\r\nUser-Agent: u\r\nX-Own: 1\r\nX-Own: 2\r\nRange: r\r\n"
                   "X-Forwarded-For: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\nProxy: p\r\n"
                   "Connection: X-Hop\r\nX-Hop: h\r\n"),
      {}, counted.view());
  REQUIRE_FALSE(made.refusal);
  CHECK(counted.all() == Counts{{"request host", 1},
                                {"request x-own", 2},
                                {"request range", 1},
                                {"request x-forwarded-*", 2},
                                {"request proxy", 1},
                                {"request connection", 1},
                                {"request x-hop", 1}});
}

TEST_CASE("a write keeps its unknown fields") {
  Counted counted;
  const MadeRequest made(counted.profile, request_text("DELETE", "X-Own: 1\r\nTE: t\r\n"), {},
                         counted.view());
  REQUIRE_FALSE(made.refusal);
  CHECK(counted.all() == Counts{{"request host", 1}, {"request te", 1}});
}

TEST_CASE("what is taken out of an answer is counted, and a leak is told of") {
  Counted counted;
  const MadeAnswer made(counted.profile,
                        answer_text("Server: s\r\nX-Cache: a\r\nX-Cache-Hits: 1\r\nX-Own: 1\r\n"
                                    "X-Accel-Redirect: /x\r\nX-Sendfile: /y\r\n"
                                    "Connection: X-Hop\r\nX-Hop: h\r\n"),
                        false, counted.view());
  REQUIRE(made.fault == AnswerFault::none);
  CHECK(made.fields() == "[x-own=1]");
  CHECK(made.canonicalizer.leaked() == "x-accel-redirect");
  CHECK(counted.all() == Counts{{"answer server", 1},
                                {"answer x-cache*", 2},
                                {"answer x-accel-*", 1},
                                {"answer x-sendfile", 1},
                                {"answer content-length", 1},
                                {"answer connection", 1},
                                {"answer x-hop", 1}});
}

TEST_CASE("configured names have numbers of their own") {
  auto file = ConfigFile::parse(
      "dropped_answer_headers = [\"x-noise\"]\n"
      "keyed_headers = [\"x-tenant\"]\n",
      "test");
  REQUIRE(file.has_value());
  const Profile profile = Profile::from_config(file->root());
  REQUIRE(file->finish().has_value());
  const std::vector<RuleText> rules = profile.rules();
  REQUIRE(rules.size() == profile.rule_count());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    INFO(rules[i].name);
    std::string name = rules[i].name;
    if (name.back() == '*') name.back() = 'q';
    const std::uint16_t number = rules[i].in_answers ? profile.numbered_answer_rule(name).number
                                                     : profile.numbered_request_rule(name).number;
    CHECK(number == i);
  }
  CHECK(rules[profile.numbered_answer_rule("x-noise").number].action == "dropped");
  CHECK(rules[profile.numbered_request_rule("x-tenant").number].action == "keyed");
}

TEST_CASE("whatever names are made up, they take no more room and none is lost") {
  UnknownFieldCounters counters;
  constexpr std::size_t kNames = 10 * UnknownFieldCounters::kNamesMax;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kNames; ++i)
      counters.add("x-" + std::to_string(i));
  }
  counters.add(std::string(UnknownFieldCounters::kNameBytesMax + 1, 'x'));
  counters.add("");
  counters.add("x\x1b[2J");
  std::size_t names = 0;
  std::uint64_t total = 0;
  counters.for_each([&](std::string_view name, std::uint64_t count) {
    CHECK(name.starts_with("x-"));
    CHECK(count == 2);
    total += count;
    ++names;
  });
  CHECK(names > UnknownFieldCounters::kNamesMax / 2);
  CHECK(names <= UnknownFieldCounters::kNamesMax);
  CHECK(total + counters.others() == 2 * kNames + 3);
}

TEST_CASE("a size that another process has spoilt leads nobody beyond the name") {
  UnknownFieldCounters counters;
  counters.add("x-own");
  // A slot begins with its size; the others have none.
  const std::span bytes(reinterpret_cast<unsigned char*>(&counters), sizeof(counters));
  const auto size = std::find(bytes.begin(), bytes.end(), 5);
  REQUIRE(size != bytes.end());
  *size = 255;
  std::size_t longest = 0;
  counters.for_each(
      [&](std::string_view name, std::uint64_t) { longest = std::max(longest, name.size()); });
  CHECK(longest == UnknownFieldCounters::kNameBytesMax);
}

}  // namespace prophecy::sketch

// Which rules of the canonical form would make two answers equal.
#include "measurement/analysis/rule_candidates.hpp"

#include <catch2/catch.hpp>

#include "http/http_date.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kEarly = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view kLate = "Mon, 07 Nov 1994 08:49:37 GMT";

std::string head(std::string_view fields) {
  return "status: 200\n" + std::string(fields);
}

std::string modified(std::string_view date) {
  return head("last-modified: " + std::string(date) + "\n");
}

}  // namespace

TEST_CASE("fields that no rule names may be dropped") {
  RuleCandidates rules;
  rules.add_transition(head("x-a: 1\nx-b: 1\n"), head("x-a: 2\nx-b: 1\n"));
  rules.add_transition(head("x-a: 1\n"), head(""));
  rules.add_transition(head("x-a: 1\nx-b: 1\n"), head("x-a: 2\nx-b: 2\n"));
  CHECK(rules.dropped() == std::set<std::string>{"x-a", "x-b"});
  CHECK(rules.transitions() == std::map<std::string, std::uint64_t>{{"x-a", 2}, {"x-a,x-b", 1}});
  CHECK(rules.settled() == 3);
}

TEST_CASE("what the profile settles, and the status, may not") {
  RuleCandidates rules;
  for (const std::string_view name : {"link", "cache-control", "vary", "access-control-max-age",
                                      "strict-transport-security", "expires", "set-cookie"}) {
    INFO(name);
    const std::string field = std::string(name) + ": ";
    rules.add_transition(head(field + "1\nx-a: 1\n"), head(field + "2\nx-a: 2\n"));
  }
  rules.add_transition("status: 200\n", "status: 404\n");
  CHECK(rules.dropped().empty());
  CHECK(rules.settled() == 0);
}

TEST_CASE("no Last-Modified is later than the earliest that differs") {
  RuleCandidates rules;
  rules.add_transition(modified(kLate), modified(kEarly));
  rules.add_transition(modified(kLate), modified("yesterday"));
  rules.add_transition(modified(kLate), head(""));
  CHECK(rules.last_modified_max() == http::parse_http_date(kEarly));
  CHECK(rules.transitions().at("last_modified_max") == 1);
  // Where it is there and gone, only leaving it out helps.
  CHECK(rules.transitions().at("last-modified") == 1);
}

TEST_CASE("names of servers that no client has") {
  RuleCandidates rules;
  const auto change = [&](std::string_view before, std::string_view after) {
    rules.add_transition(head("location: " + std::string(before) + "\n"),
                         head("location: " + std::string(after) + "\n"));
  };
  change("http://10.0.0.1:8080/a", "http://10.0.0.2:8080/a");
  change("http://app-1/a", "/a");
  CHECK(rules.settled() == 2);
  CHECK(rules.authorities() == std::set<std::string>{"10.0.0.1:8080", "10.0.0.2:8080", "app-1"});
  change("http://10.0.0.3/a", "http://10.0.0.4/b");
  change("https://img1.example.org/a", "https://img2.example.org/a");
  change("http://10.0.0.1:8080/a", "http://www.example.org/a");
  CHECK(rules.settled() == 2);
  CHECK(rules.authorities().size() == 3);
  CHECK(is_internal_authority("[::1]:80"));
  CHECK(is_internal_authority("DB.Internal:80"));
  CHECK_FALSE(is_internal_authority("example.org:80"));
  CHECK_FALSE(is_internal_authority(""));
}

TEST_CASE("settings that let answers be sketched") {
  RuleCandidates rules;
  rules.add_unsketched(AnswerKind::sets_cookie, head("set-cookie: a=1\n"));
  rules.add_unsketched(AnswerKind::varies, head("vary: Accept, User-Agent\n"));
  rules.add_unsketched(AnswerKind::varies, head("vary: X-Forwarded-For\n"));
  rules.add_unsketched(AnswerKind::varies, head("vary: Referer, *\n"));
  rules.add_unsketched(AnswerKind::varies, head("vary: Prophecy-Time\n"));
  CHECK(rules.sets_cookie() == 1);
  CHECK(rules.varies() == 2);
  CHECK(rules.keyed() == std::set<std::string>{"user-agent"});
  CHECK(rules.varies_by_address());
}

TEST_CASE("a setting holds only so many names") {
  RuleCandidates rules;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "x-" + std::to_string(i) + ": ";
    rules.add_transition(head(name + "1\n"), head(name + "2\n"));
  }
  CHECK(rules.dropped().size() == RuleCandidates::kValuesMax);
  CHECK(rules.settled() == RuleCandidates::kValuesMax);
}

}  // namespace prophecy::measurement

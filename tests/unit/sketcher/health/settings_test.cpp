#include <catch2/catch.hpp>

#include "base/config/config.hpp"
#include "sketcher/config/health_settings.hpp"

namespace prophecy::sketcher {
namespace {

std::string mistakes_of(const std::string& text) {
  auto file = ConfigFile::parse("[health]\n" + text, "test");
  REQUIRE(file.has_value());
  (void)read_health(file->root().section("health"));
  const auto finished = file->finish();
  return finished ? "" : finished.error().message;
}

HealthSettings read(const std::string& text) {
  auto file = ConfigFile::parse("[health]\n" + text, "test");
  REQUIRE(file.has_value());
  HealthSettings health = read_health(file->root().section("health"));
  const auto finished = file->finish();
  INFO((finished ? "" : finished.error().message));
  REQUIRE(finished.has_value());
  return health;
}

}  // namespace

TEST_CASE("Without a word about health there are no checks, and liars sit out") {
  const HealthSettings health = read("");
  CHECK_FALSE(health.rules.checked);
  CHECK(health.rules.quarantine);
  CHECK(health.rules.disputes_max == 10);
  CHECK(health.rules.failures_max == 10);
  CHECK(health.rules.drawable_min == 1);
}

TEST_CASE("Checks have defaults for all there is to say") {
  const HealthSettings health = read("check = 'http'");
  CHECK(health.rules.checked);
  CHECK(health.check.method == "GET");
  CHECK(health.check.path == "/");
  CHECK(health.check.host.empty());
  CHECK(judge(health.check.rule, 200, "") == replica_client::CheckOutcome::passed);
  CHECK(judge(health.check.rule, 404, "") == replica_client::CheckOutcome::wrong_status);
  CHECK(health.check.interval == seconds(2));
  CHECK(health.check.timeout == seconds(1));
  CHECK(health.rules.rise == 2);
  CHECK(health.rules.fall == 3);
}

TEST_CASE("All of it can be said") {
  const HealthSettings health = read(R"(
check = "http"
method = "HEAD"
path = "/health?deep=1"
host = "WWW.example.org:80"
expect_status = ["204", "301-302"]
interval = "100ms"
timeout = "50ms"
rise = 1
fall = 100
failures_max = 7
pause = "1s"
pause_max = "1s"
quarantine = false
disputes_max = 3
disputes_window = "1h"
sit_out = "10s"
sit_out_max = "20s"
drawable_min = 3
)");
  CHECK(health.check.method == "HEAD");
  CHECK(health.check.path == "/health?deep=1");
  CHECK(health.check.host == "www.example.org");
  CHECK(judge(health.check.rule, 204, "") == replica_client::CheckOutcome::passed);
  CHECK(judge(health.check.rule, 302, "") == replica_client::CheckOutcome::passed);
  CHECK(judge(health.check.rule, 200, "") == replica_client::CheckOutcome::wrong_status);
  CHECK(health.check.interval == milliseconds(100));
  CHECK(health.rules.fall == 100);
  CHECK(health.rules.failures_max == 7);
  CHECK(health.rules.pause_max == seconds(1));
  CHECK_FALSE(health.rules.quarantine);
  CHECK(health.rules.sit_out_max == seconds(20));
  CHECK(health.rules.drawable_min == 3);
}

TEST_CASE("A maximum that is not said follows what it is the maximum of") {
  CHECK(read("sit_out = '30m'").rules.sit_out_max == minutes(30));
}

TEST_CASE("What makes no sense is a mistake") {
  const auto [text, problem] = GENERATE(Catch::Generators::table<std::string, std::string>({
      {"check = 'tcp'", "check"},
      {"path = '/'", "path"},  // without checks
      {"check = 'http'\npath = 'health'", "health.path: expected a path"},
      {"check = 'http'\npath = \"/a b\"", "health.path"},
      {"check = 'http'\npath = \"/a\\r\\nX: y\"", "health.path"},
      {"check = 'http'\nhost = \"a\\r\\nX: y\"", "health.host"},
      {"check = 'http'\nhost = 'a/b'", "health.host"},
      {"check = 'http'\nmethod = 'POST'", "health.method"},
      {"check = 'http'\nexpect_status = []", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['2xx']", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['299-200']", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['200-']", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['-200']", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['100']", "health.expect_status"},
      {"check = 'http'\nexpect_status = ['0200']", "health.expect_status"},
      {"check = 'http'\nmethod = 'HEAD'\nexpect_body = 'x'", "health.expect_body"},
      {"check = 'http'\nexpect_body = '" + std::string(1025, 'x') + "'", "health.expect_body"},
      {"check = 'http'\ninterval = '10ms'", "health.interval"},
      {"check = 'http'\nrise = 0", "health.rise"},
      {"failures_max = 0", "health.failures_max"},
      {"pause = '10s'\npause_max = '9s'", "health.pause_max"},
      {"sit_out = '10s'\nsit_out_max = '9s'", "health.sit_out_max"},
      {"quarantine = 'on'", "health.quarantine"},
      {"drawable_min = 65", "health.drawable_min"},
  }));
  INFO(text);
  CHECK(mistakes_of(text).find(problem) != std::string::npos);
}

}  // namespace prophecy::sketcher

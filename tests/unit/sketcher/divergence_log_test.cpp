#include "sketcher/shared/divergence_log.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sketcher/shared/divergence.hpp"
#include "support/start_time.hpp"

namespace prophecy::sketcher {
namespace {

using test::kStart;

// At a pace that is never too fast.
class Clock {
 public:
  TimePoint next() { return now_ += kReportInterval; }

 private:
  TimePoint now_ = kStart;
};

std::string event_of(NodeId replica, DivergenceKind kind = DivergenceKind::fast_read,
                     std::uint32_t worker = 0) {
  Divergence divergence;
  divergence.group = "default";
  divergence.replica = replica;
  divergence.kind = kind;
  return to_json(divergence, worker);
}

}  // namespace

TEST_CASE("Events are numbered, kept up to a bound, and read from any number on") {
  Logger log("test", {LogLevel::error, LogFormat::text});
  DivergenceLog events(log);
  Clock clock;
  for (std::size_t i = 0; i < DivergenceLog::kKept + 10; ++i)
    events.add(R"({"n":1})", clock.next());
  const auto all = nlohmann::json::parse(events.since(0));
  CHECK(all["next"] == DivergenceLog::kKept + 10);
  CHECK(all["events"].size() == DivergenceLog::kKept);
  CHECK(all["events"][0]["id"] == 10);
  const auto last = nlohmann::json::parse(events.since(DivergenceLog::kKept + 9));
  REQUIRE(last["events"].size() == 1);
  CHECK(last["events"][0]["id"] == DivergenceLog::kKept + 9);
  CHECK(nlohmann::json::parse(events.since(1'000'000))["events"].empty());
}

TEST_CASE("Events of shadows accuse nobody, and make room for those that do") {
  Logger log("test", {LogLevel::error, LogFormat::text});
  DivergenceLog events(log);
  Divergence divergence;
  divergence.kind = DivergenceKind::shadow;
  // What a client sends cannot pass for the mark.
  divergence.target = R"(/{"role":"shadow",)";
  Clock clock;
  events.add(R"({"n":1})", clock.next());
  for (std::size_t i = 0; i < DivergenceLog::kKept + 10; ++i)
    events.add(to_json(divergence, 0), clock.next());
  divergence.kind = DivergenceKind::vote;
  events.add(to_json(divergence, 0), clock.next());
  CHECK(events.count() == 2);
  const auto all = nlohmann::json::parse(events.since(0));
  CHECK(all["events"].size() == DivergenceLog::kKept);
  CHECK(all["events"][0]["id"] == 0);
  CHECK(all["events"][1]["id"] == 13);
  CHECK(all["events"][1]["role"] == "shadow");
  CHECK(all["events"].back()["kind"] == "vote");
  CHECK(all["next"] == DivergenceLog::kKept + 12);
  CHECK(nlohmann::json::parse(events.since(1))["events"].size() == DivergenceLog::kKept - 1);
}

TEST_CASE("What is no object is no event") {
  Logger log("test", {LogLevel::error, LogFormat::text});
  DivergenceLog events(log);
  events.add("", kStart);
  events.add("x", kStart);
  events.add("{", kStart);
  events.add("[1]", kStart);
  CHECK(events.count() == 0);
  CHECK(events.withheld() == 0);
}

TEST_CASE("All workers together have one rate for each origin") {
  Logger log("test", {LogLevel::error, LogFormat::text});
  DivergenceLog events(log);
  TimePoint now = kStart;
  for (std::uint32_t i = 0; i < 3 * kReportsAtOnce; ++i)
    events.add(event_of(2, DivergenceKind::fast_read, i % 16), now);
  CHECK(events.count() == kReportsAtOnce);
  CHECK(events.withheld() == 2 * kReportsAtOnce);
  // Ten seconds of 16 workers, each with its own bound of ten a second.
  for (int i = 0; i < 100; ++i) {
    now += kReportInterval;
    for (std::uint32_t worker = 0; worker < 16; ++worker)
      events.add(event_of(2, DivergenceKind::vote, worker), now);
  }
  CHECK(events.count() == kReportsAtOnce + 100);
  // Another origin and a shadow of the same number are not what it lies about.
  events.add(event_of(1), now);
  events.add(event_of(2, DivergenceKind::shadow), now);
  CHECK(events.count() == kReportsAtOnce + 101);
  CHECK(nlohmann::json::parse(events.since(0))["next"] == kReportsAtOnce + 102);
}

TEST_CASE("A divergence is one bounded line of JSON, whatever the client sent") {
  const std::string target = "/" + std::string(100'000, '\xff');
  Divergence divergence;
  divergence.replica = 2;
  divergence.method = "GET";
  divergence.target = target;
  divergence.authority = "a\n\"b";
  divergence.differences = {{.part = "body", .header = {}, .body_offset = 17},
                            {.part = "header", .header = std::string(5000, 'x'), .body_offset = 0}};
  const std::string line = to_json(divergence, 3);
  CHECK(line.size() <= kEventBytesMax);
  CHECK(line.find('\n') == std::string::npos);
  const auto json = nlohmann::json::parse(line);
  CHECK(json["replica"] == 2);
  CHECK(json["worker"] == 3);
  CHECK(json["differs"][0]["offset"] == 17);
  CHECK(json["request"]["authority"] == "a\n\"b");
}

}  // namespace prophecy::sketcher

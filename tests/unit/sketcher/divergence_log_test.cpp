#include "sketcher/divergence_log.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sketcher/divergence.hpp"

namespace prophecy::sketcher {

TEST_CASE("Events are numbered, kept up to a bound, and read from any number on") {
  Logger log("test", {LogLevel::error, LogFormat::text});
  DivergenceLog events(log);
  for (std::size_t i = 0; i < DivergenceLog::kKept + 10; ++i)
    events.add(R"({"n":1})");
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
  events.add(R"({"n":1})");
  for (std::size_t i = 0; i < DivergenceLog::kKept + 10; ++i)
    events.add(to_json(divergence, 0));
  divergence.kind = DivergenceKind::vote;
  events.add(to_json(divergence, 0));
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
  events.add("");
  events.add("x");
  CHECK(events.count() == 0);
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

#include "tools/answers/status_sums.hpp"

#include <cstdint>
#include <limits>

#include <catch2/catch.hpp>

using namespace prophecy::tools;
using Json = nlohmann::ordered_json;

namespace {

Json status(const char* name, std::uint64_t reads, const char* mode, const char* state) {
  const Json origin{{"group", "g"},   {"replica", 0},          {"address", "10.0.0.1:80"},
                    {"state", state}, {"since_seconds", 7},    {"weight", 100},
                    {"share", 0.25},  {"fast_answers", reads}, {"fast_failures", {{"timeout", 1}}}};
  const Json route{{"name", "all"}, {"group", "g"}, {"mode", mode}, {"requests", reads}};
  const Json busy{{"connections", 4}, {"fast", 5}};
  const Json idle{{"connections", 1}, {"fast", 0}};
  const Json self{{"name", name}, {"partitions", 2048}};
  const Json process{{"state", "member"}, {"adopted_view", 9}, {"problems", Json::array({"one"})}};
  return {{"version", "1"},
          {"bypass", false},
          {"uptime_seconds", 50},
          {"requests", {{"reads", reads}, {"writes", 1}, {"fast", 5}, {"failed", 0}}},
          {"transport", {{"tls", {{"handshakes", reads}}}}},
          {"divergences", 3},
          {"workers", Json::array({busy, idle})},
          {"routes", Json::array({route})},
          {"origins", Json::array({origin})},
          {"ring", {{"members", Json::array({self})}, {"process", process}}}};
}

}  // namespace

TEST_CASE("status of members: counts are added up, members, routes and origins have rows") {
  const MemberStatus members[]{{"north", status("north", 10, "enforce", "ready"), ""},
                               {"middle", nullptr, "no answer within 3 s"},
                               {"south", status("south", 7, "off", "ready"), ""},
                               {"west", status("west", 0, "enforce", "down"), ""}};
  const Json sum = sum_status(members);
  CHECK(sum["total"]["requests"]["reads"] == 17);
  CHECK(sum["total"]["requests"]["writes"] == 3);
  CHECK(sum["total"]["transport"]["tls"]["handshakes"] == 17);
  CHECK(sum["total"]["divergences"] == 9);
  for (const char* const name : {"uptime_seconds", "bypass", "ring", "routes", "version"})
    CHECK_FALSE(sum["total"].contains(name));
  REQUIRE(sum["members"].size() == 4);
  CHECK(sum["members"][0]["name"] == "north");
  CHECK(sum["members"][0]["state"] == "member");
  CHECK(sum["members"][0]["partitions"] == 2048);
  CHECK(sum["members"][0]["connections"] == 5);
  CHECK(sum["members"][0]["fast"] == 5);
  CHECK(sum["members"][0]["ring_problems"] == 1);
  CHECK(sum["members"][0]["problem"].is_null());
  CHECK(sum["members"][1]["problem"] == "no answer within 3 s");
  CHECK(sum["members"][1]["reads"].is_null());
  REQUIRE(sum["routes"].size() == 1);
  CHECK(sum["routes"][0]["mode"] == "enforce / off");
  CHECK(sum["routes"][0]["requests"] == 17);
  REQUIRE(sum["origins"].size() == 1);
  const Json& origin = sum["origins"][0];
  CHECK(origin["replica"] == 0);
  CHECK(origin["state"] == "ready / down");
  CHECK(origin["weight"] == 100);
  CHECK(origin["fast_answers"] == 17);
  CHECK(origin["fast_failures"]["timeout"] == 3);
  CHECK_FALSE(origin.contains("share"));
  CHECK_FALSE(origin.contains("since_seconds"));
}

TEST_CASE("status of members: any shape is taken") {
  const MemberStatus members[]{
      {"a", Json::parse(R"({"requests": 1, "routes": 2, "origins": [1, 2], "workers": "x"})"), ""},
      {"b", Json::parse(R"({"requests": {"reads": 1}, "routes": [{"mode": 1}], "ring": 3})"), ""},
      {"c", Json::parse(R"({"requests": {"reads": {"deep": 1}}, "workers": [1]})"), ""},
      {"d", Json::array(), ""}};
  const Json sum = sum_status(members);
  CHECK(sum["members"].size() == 4);
  CHECK(sum["total"]["requests"] == 1);
}

TEST_CASE("status of members: a total stays at the greatest number, however much members report") {
  const Json most{{"requests", {{"reads", std::numeric_limits<std::uint64_t>::max() - 3}}}};
  const Json few{{"requests", {{"reads", 3U}}}};
  const auto reads = [](const Json& one, const Json& other) {
    const MemberStatus members[]{{"north", one, ""}, {"south", other, ""}};
    return sum_status(members)["total"]["requests"]["reads"].get<std::uint64_t>();
  };
  CHECK(reads(few, few) == 6);
  CHECK(reads(most, few) == std::numeric_limits<std::uint64_t>::max());
  CHECK(reads(most, most) == std::numeric_limits<std::uint64_t>::max());
}

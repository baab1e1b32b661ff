// A member acts by what all members have agreed on.
#include "sketcher/master/agreed_switches.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "sketcher/ring/settings_messages.hpp"

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;
using Kind = dht::SettingsOutcome::Kind;

// Of its origins, two may be out at most.
struct SwitchBoard final : SettingTarget {
  Result<> carry_out(const std::string& name, const std::string& value) override {
    if (name == "unknown") return Error{ErrorKind::invalid, "not known"};
    const bool takes_out = name.starts_with("origin/") && !value.empty();
    if (takes_out && !out.contains(name) && out.size() == 2)
      return Error{ErrorKind::invalid, "too many are out"};
    if (value.empty()) {
      out.erase(name);
    } else {
      out[name] = value;
    }
    done.push_back(name + "=" + value);
    return {};
  }
  void remember() override {
    ++remembered;
    if (memory_of != nullptr) memory = memory_of->memory();
  }

  const AgreedSwitches* memory_of = nullptr;
  Json memory;
  std::map<std::string, std::string> out;
  std::vector<std::string> done;
  int remembered = 0;
};

dht::AgreedSettings agreed(dht::SettingsNumber number, dht::SettingValues values) {
  return {number, std::move(values), {}};
}

// An operator's change, which the target has carried out.
std::uint64_t set_here(SwitchBoard& board, AgreedSwitches& switches, const std::string& name,
                       const std::string& value) {
  REQUIRE(board.carry_out(name, value).has_value());
  return switches.set(name, value);
}

}  // namespace

TEST_CASE("What differs is carried out, and what was set here is not carried out again") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(5, {{"bypass", "on"}}));
  CHECK(board.done == std::vector<std::string>{"bypass=on"});
  const auto id = set_here(board, switches, "origin/g/1", "maint");
  const auto order = switches.unsent();
  REQUIRE(order.has_value());
  CHECK(order->bases == std::vector<std::string>{""});
  switches.on_sent(id);
  CHECK_FALSE(switches.unsent().has_value());
  board.done.clear();
  switches.on_agreed(agreed(6, {{"bypass", "on"}, {"origin/g/1", "maint"}}));
  switches.on_outcome({id, Kind::agreed, ""});
  switches.on_agreed(agreed(7, {{"origin/g/1", "maint"}}));
  CHECK(board.done == std::vector<std::string>{"bypass="});
  CHECK(switches.not_shared() == 0);
  REQUIRE(switches.outcome(id) != nullptr);
  CHECK(switches.outcome(id)->kind == Kind::agreed);
}

TEST_CASE("What puts back comes before what takes out") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(2, {{"origin/g/2", "maint"}, {"origin/g/3", "maint"}}));
  board.done.clear();
  switches.on_agreed(agreed(4, {{"origin/g/1", "maint"}, {"origin/g/3", "maint"}}));
  CHECK(board.done == std::vector<std::string>{"origin/g/2=", "origin/g/1=maint"});
  CHECK(switches.refused().empty());
}

TEST_CASE("A setting that is refused here is kept as such, and tried again") {
  SwitchBoard board;
  board.out = {{"origin/g/8", "x"}, {"origin/g/9", "x"}};
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(2, {{"origin/g/1", "maint"}, {"unknown", "1"}}));
  REQUIRE(switches.refused().size() == 2);
  CHECK(switches.refused().at("origin/g/1").reason == "too many are out");
  CHECK(switches.list()[0]["here"] == "refused: too many are out");
  switches.retry();
  CHECK(switches.refused().size() == 2);
  board.out.erase("origin/g/9");
  switches.retry();
  CHECK(switches.refused().size() == 1);
  CHECK(board.out.contains("origin/g/1"));
  switches.on_agreed(agreed(3, {{"origin/g/1", "maint"}}));
  CHECK(switches.refused().empty());
}

TEST_CASE("A change that the ring refuses, or that another member was faster with, is taken back") {
  const Kind kind = GENERATE(Kind::refused, Kind::lost);
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(2, {{"origin/g/1", "drain"}}));
  const auto id = set_here(board, switches, "origin/g/1", "maint");
  const auto other = set_here(board, switches, "bypass", "on");
  switches.on_outcome({id, kind, "why"});
  CHECK(board.out.at("origin/g/1") == "drain");
  switches.on_outcome({other, kind, "why"});
  CHECK_FALSE(board.out.contains("bypass"));
  CHECK(switches.outcome(id)->message == "why");
}

TEST_CASE("A change that cannot be shared holds here, whatever is agreed meanwhile") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(2, {}));
  const auto id = set_here(board, switches, "bypass", "on");
  switches.on_sent(id);
  switches.on_outcome({id, Kind::waiting, "no ZooKeeper"});
  switches.on_agreed(agreed(3, {{"route/r", "observe"}}));
  CHECK(board.out.contains("bypass"));
  CHECK(switches.not_shared() == 1);
  CHECK(switches.list()[0] == Json{{"name", "bypass"},
                                   {"agreed", nullptr},
                                   {"here", "on, not shared yet: no ZooKeeper"}});
  // Another process of the ring has to be told again.
  switches.on_ring_started();
  REQUIRE(switches.unsent().has_value());
  CHECK(switches.unsent()->id == id);
}

TEST_CASE("A later change of one setting goes by either value that the ring may have") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(2, {{"origin/g/1", "drain"}}));
  const auto first = set_here(board, switches, "origin/g/1", "maint");
  switches.on_sent(first);
  const auto second = set_here(board, switches, "origin/g/1", "");
  const auto order = switches.unsent();
  REQUIRE(order.has_value());
  CHECK(order->id == second);
  CHECK(order->bases == std::vector<std::string>{"drain", "maint"});
  // The first one comes back agreed: the second one holds here.
  switches.on_agreed(agreed(3, {{"origin/g/1", "maint"}}));
  switches.on_outcome({first, Kind::agreed, ""});
  CHECK_FALSE(board.out.contains("origin/g/1"));
  CHECK(switches.not_shared() == 1);
}

TEST_CASE("What is agreed, and what is not shared, outlives the process") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  const std::string kept = "mark/" + std::string(40, 'a');
  const std::string gone = "mark/" + std::string(40, 'b');
  switches.on_agreed(agreed(9, {{kept, "blacklisted"}, {gone, "blacklisted"}, {"route/r", "off"}}));
  set_here(board, switches, "bypass", "on");
  const Json memory = Json::parse(switches.memory().dump());

  SwitchBoard next_board;
  AgreedSwitches next(next_board);
  REQUIRE(next.restore("", {{"bypass", "on"}, {"route/r", "off"}}, memory).has_value());
  // Whether a mark is in the table is not sure.
  CHECK(next_board.done == std::vector<std::string>{kept + "=blacklisted", gone + "=blacklisted"});
  CHECK(next.agreed().number == 9);
  REQUIRE(next.unsent().has_value());
  CHECK(next.unsent()->change == dht::SettingChange{"bypass", "on"});
  // Taken away while this member was away.
  next.on_agreed(agreed(10, {{kept, "blacklisted"}}));
  CHECK(next_board.done.size() == 4);
  CHECK(next_board.done[2] == gone + "=");
  CHECK(next_board.done[3] == "route/r=");
}

TEST_CASE("A mark is remembered before it is carried out") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  board.memory_of = &switches;
  const std::string mark = "mark/" + std::string(40, 'a');
  switches.prepare(mark);
  // The process ends here, perhaps behind the change of its table.
  SwitchBoard next_board;
  AgreedSwitches next(next_board);
  REQUIRE(next.restore("", {}, board.memory).has_value());
  CHECK(next_board.done == std::vector<std::string>{mark + "="});
  // Others do not outlive the process.
  board.remembered = 0;
  switches.prepare("bypass");
  CHECK(board.remembered == 0);
}

TEST_CASE("A decision that the ring's process did not outlive ends, and is told so") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  const auto told = switches.decide(dht::SettingsOrder::Kind::restore);
  REQUIRE(switches.unsent().has_value());
  switches.on_sent(told);
  switches.on_outcome({told, Kind::agreed, ""});
  const auto lost = switches.decide(dht::SettingsOrder::Kind::accept);
  switches.on_sent(lost);
  CHECK(switches.outcome(lost) == nullptr);
  switches.on_ring_started();
  CHECK(switches.outcome(told)->kind == Kind::agreed);
  REQUIRE(switches.outcome(lost) != nullptr);
  CHECK(switches.outcome(lost)->kind == Kind::refused);
  // Nobody has seen what the next process finds.
  CHECK_FALSE(switches.unsent().has_value());
}

TEST_CASE("Where nobody has set anything, what a member has remembered is shared") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  REQUIRE(switches.restore("", {{"route/r", "observe"}}, nullptr).has_value());
  switches.on_agreed(agreed(1, {}));
  REQUIRE(switches.unsent().has_value());
  CHECK(switches.unsent()->change == dht::SettingChange{"route/r", "observe"});
  CHECK(board.done.empty());
  SwitchBoard other_board;
  AgreedSwitches other(other_board);
  REQUIRE(other.restore("", {{"route/r", "off"}}, nullptr).has_value());
  other.on_agreed(agreed(2, {{"route/r", "observe"}}));
  CHECK(other_board.done == std::vector<std::string>{"route/r=observe"});
}

TEST_CASE("What another ring has agreed on holds until this one says what does") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  REQUIRE(switches.restore("/one", {}, nullptr).has_value());
  const std::string mark = "mark/" + std::string(40, 'a');
  switches.on_agreed(agreed(9, {{mark, "blacklisted"}, {"origin/g/1", "maint"}}));
  const Json memory = Json::parse(switches.memory().dump());

  SwitchBoard next_board;
  AgreedSwitches next(next_board);
  REQUIRE(next.restore("/two", {}, memory).has_value());
  CHECK(next.agreed().number == 0);
  CHECK(next_board.done == std::vector<std::string>{mark + "=blacklisted", "origin/g/1=maint"});
  CHECK_FALSE(next.unsent().has_value());
  SECTION("which takes it over where nobody has set anything") {
    next.on_agreed(agreed(1, {}));
    CHECK(next.not_shared() == 2);
    CHECK(next_board.done.size() == 2);
  }
  SECTION("and is put back where it has settings of its own") {
    next.on_agreed(agreed(3, {{"bypass", "on"}}));
    CHECK(next.not_shared() == 0);
    CHECK(next_board.done == std::vector<std::string>{mark + "=blacklisted", "origin/g/1=maint",
                                                      mark + "=", "origin/g/1=", "bypass=on"});
  }
}

TEST_CASE("A damaged memory of settings is refused as a whole") {
  SwitchBoard board;
  AgreedSwitches switches(board);
  switches.on_agreed(agreed(9, {{"bypass", "on"}}));
  set_here(board, switches, "route/r", "off");
  const Json memory = switches.memory();
  for (const char* const key : {"number", "values", "own", "bases", "marks"}) {
    for (const Json& wrong : {Json("x"), Json(nullptr), Json{{"a b", "c"}}, Json::array({1})}) {
      Json damaged = memory;
      damaged[key] = wrong;
      AgreedSwitches next(board);
      CHECK_FALSE(next.restore("", {}, damaged).has_value());
      CHECK(next.agreed().number == 0);
    }
  }
}

TEST_CASE("Messages between the master and the ring's process are read as they were written") {
  const dht::SettingsOrder order{.id = 3,
                                 .kind = dht::SettingsOrder::Kind::change,
                                 .change = {"origin/g/1", "maint \"disk\""},
                                 .bases = {"", "drain"}};
  const auto read = parse_master_message(order_text(order));
  REQUIRE(read.has_value());
  const auto& same = std::get<dht::SettingsOrder>(*read);
  CHECK((same.id == order.id && same.change == order.change && same.bases == order.bases));
  const auto number = parse_master_message(carried_out_text(7));
  REQUIRE(number.has_value());
  CHECK(std::get<SettingsCarriedOut>(*number).number == 7);
  for (const char* const text : {"", "x", "{}", "[]", R"({"order":"x","id":1})",
                                 R"({"order":"change","id":1,"name":"a","value":"b"})",
                                 R"({"order":"change","id":1,"name":"a","value":"b","bases":[1]})"})
    CHECK_FALSE(parse_master_message(text).has_value());

  const auto settings = agreed(4, {{"bypass", "on"}});
  const auto told = parse_settings_message(nlohmann::json::parse(agreed_text(settings)));
  REQUIRE(told.has_value());
  CHECK(std::get<dht::AgreedSettings>(*told) == settings);
  const dht::SettingsOutcome outcome{3, Kind::lost, "why"};
  const auto ended = parse_settings_message(nlohmann::json::parse(outcome_text(outcome)));
  REQUIRE(ended.has_value());
  CHECK(std::get<dht::SettingsOutcome>(*ended) == outcome);
  for (const char* const text :
       {"{}", R"({"agreed":{}})", R"({"agreed":{"number":1,"values":{"a b":"c"}}})",
        R"({"outcome":{"id":1,"kind":"x","message":""}})", R"({"outcome":{"id":1,"kind":"lost"}})"})
    CHECK_FALSE(parse_settings_message(nlohmann::json::parse(text)).has_value());
}

}  // namespace prophecy::sketcher

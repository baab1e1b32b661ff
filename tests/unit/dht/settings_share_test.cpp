// Members agree on settings; tests/ring/ runs this with a service that loses and delays.
#include "dht/core/settings_share.hpp"

#include <memory>

#include <catch2/catch.hpp>

namespace prophecy::dht {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using OutcomeKind = SettingsOutcome::Kind;

constexpr std::string_view kSettingsPath = "/prophecy/settings";

SettingsCodec share_codec() {
  return {"site", SettingsCodec::Key{5}};
}

// One node, and members whose calls it answers at once unless that is held back.
struct SettingsNode {
  std::optional<std::string> text;
  NodeVersion version = 0;

  CoordinationResult answer(const CoordinationCall& call) {
    CoordinationResult result{.number = call.number, .status = CoordinationStatus::done};
    if (call.kind == CoordinationCall::Kind::read) {
      if (!text) {
        result.status = CoordinationStatus::absent;
      } else {
        result.data = to_bytes(*text);
        result.version = version;
      }
      return result;
    }
    const WriteStep& step = call.steps.front();
    CHECK(step.path == kSettingsPath);
    if (step.kind == WriteStep::Kind::create) {
      if (text) {
        result.status = CoordinationStatus::exists;
      } else {
        put(as_text(step.data), 0);
      }
      return result;
    }
    if (!text) {
      result.status = CoordinationStatus::absent;
    } else if (step.version != version) {
      result.status = CoordinationStatus::wrong_version;
    } else if (step.kind == WriteStep::Kind::set) {
      put(as_text(step.data), version + 1);
    }
    return result;
  }
  void put(std::string_view data, NodeVersion as_version) {
    text = std::string(data);
    version = as_version;
  }
  // As an operator does with zkCli.
  void put_back(const std::string& old) { put(old, version + 1); }
  [[nodiscard]] AgreedSettings settings() const { return *share_codec().decode(*text); }
};

struct SettingsMember {
  SettingsMember(SettingsNode& of, Instance instance, AgreedSettings known = {})
      : node(of),
        share(std::string(kSettingsPath), share_codec(), instance, std::move(known),
              milliseconds(250)) {}

  void connect() {
    share.on_session(SessionEvent::connected, now);
    run();
  }
  void run() {
    while (auto action = share.take_action()) {
      if (const auto* const call = std::get_if<CoordinationCall>(&*action)) {
        if (holds_writes && call->kind == CoordinationCall::Kind::write) {
          held.push_back(*call);
        } else {
          share.on_result(node.answer(*call), now);
        }
      } else if (const auto* const adopted_now = std::get_if<SettingsAdopted>(&*action)) {
        adopted = adopted_now->settings;
        ++adoptions;
      } else if (const auto* const outcome = std::get_if<SettingsOutcome>(&*action)) {
        outcomes.push_back(*outcome);
      }
    }
  }
  void pass(Span time = seconds(1)) {
    for (Span left = time; left > Span{}; left -= milliseconds(50)) {
      now += milliseconds(50);
      share.on_tick(now);
      run();
    }
  }
  void set(std::string name, std::string value, std::vector<std::string> bases = {""}) {
    share.order(
        {.id = ++id, .change = {std::move(name), std::move(value)}, .bases = std::move(bases)},
        now);
    run();
  }
  void decide(SettingsOrder::Kind kind) {
    share.order({.id = ++id, .kind = kind}, now);
    run();
  }
  [[nodiscard]] OutcomeKind last() const {
    REQUIRE_FALSE(outcomes.empty());
    return outcomes.back().kind;
  }

  SettingsNode& node;
  BootTime now{seconds(100)};
  SettingsShare share;
  std::uint64_t id = 0;
  bool holds_writes = false;
  std::vector<CoordinationCall> held;
  std::optional<AgreedSettings> adopted;
  int adoptions = 0;
  std::vector<SettingsOutcome> outcomes;
};

}  // namespace

TEST_CASE("The first member makes the settings' node, another one reads it") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  REQUIRE(a.adopted.has_value());
  CHECK(a.adopted->number == 1);
  a.set("bypass", "on");
  CHECK(a.last() == OutcomeKind::agreed);
  SettingsMember b(node, 2);
  b.connect();
  REQUIRE(b.adopted.has_value());
  CHECK(value_of(b.adopted->values, "bypass") == "on");
}

TEST_CASE("A process begins with nothing that a server may have read long ago") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  a.set("bypass", "on");
  SettingsMember b(node, 2);
  b.share.on_session(SessionEvent::connected, b.now);
  const auto read = b.share.take_action();
  REQUIRE(read.has_value());
  const auto& call = std::get<CoordinationCall>(*read);
  // The answer is older than the next change.
  const CoordinationResult old = node.answer(call);
  a.set("bypass", "", {"on"});
  b.share.on_result(old, b.now);
  b.run();
  CHECK_FALSE(b.adopted.has_value());
  b.pass();
  REQUIRE(b.adopted.has_value());
  CHECK(b.adopted->values.empty());
}

TEST_CASE("Changes of two members at once are both kept") {
  SettingsNode node;
  SettingsMember a(node, 1);
  SettingsMember b(node, 2);
  a.connect();
  b.connect();
  a.set("bypass", "on");
  b.set("route/api", "observe");  // it does not know of a's
  b.pass();
  CHECK(b.last() == OutcomeKind::agreed);
  CHECK(b.share.conflicts() == 1);
  CHECK(node.settings().values == SettingValues{{"bypass", "on"}, {"route/api", "observe"}});
}

TEST_CASE("A change is lost to another member that was faster with the same setting") {
  SettingsNode node;
  SettingsMember a(node, 1);
  SettingsMember b(node, 2);
  a.connect();
  b.connect();
  a.set("origin/default/1", "maint");
  b.set("origin/default/1", "drain");
  b.pass();
  CHECK(b.last() == OutcomeKind::lost);
  CHECK(b.outcomes.back().message.find("maint") != std::string::npos);
  CHECK(value_of(node.settings().values, "origin/default/1") == "maint");
  CHECK(value_of(b.adopted->values, "origin/default/1") == "maint");
}

TEST_CASE("A change of unknown outcome is answered by what was carried out") {
  const bool was_carried_out = GENERATE(true, false);
  SettingsNode node;
  SettingsMember a(node, 1);
  SettingsMember b(node, 2);
  a.connect();
  b.connect();
  a.holds_writes = true;
  a.set("bypass", "on");
  REQUIRE(a.held.size() == 1);
  if (was_carried_out) (void)node.answer(a.held[0]);
  if (was_carried_out) {
    b.pass();
    b.set("bypass", "", {"on"});  // another member goes on from it
    CHECK(b.last() == OutcomeKind::agreed);
  }
  a.holds_writes = false;
  a.share.on_session(SessionEvent::disconnected, a.now);
  a.share.on_result({.number = a.held[0].number, .status = CoordinationStatus::unknown}, a.now);
  a.run();
  CHECK(a.last() == OutcomeKind::waiting);
  a.connect();
  a.pass();
  CHECK(a.last() == OutcomeKind::agreed);
  CHECK(value_of(node.settings().values, "bypass") == (was_carried_out ? "" : "on"));
}

TEST_CASE("A change that comes late is carried out by nobody") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  a.holds_writes = true;
  a.set("bypass", "on");
  const CoordinationCall late = a.held.at(0);
  a.holds_writes = false;
  a.share.on_result({.number = late.number, .status = CoordinationStatus::unknown}, a.now);
  a.pass();
  a.set("bypass", "", {"on"});
  CHECK(node.answer(late).status == CoordinationStatus::wrong_version);
  CHECK(node.settings().values.empty());
}

TEST_CASE("Without the service a change waits, and is shared later") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.set("bypass", "on");
  CHECK(a.last() == OutcomeKind::waiting);
  CHECK(a.outcomes.back().message.find("ZooKeeper") != std::string::npos);
  a.connect();
  CHECK(a.last() == OutcomeKind::agreed);
  CHECK(value_of(node.settings().values, "bypass") == "on");
}

TEST_CASE("Of two changes of one setting that wait, the later one is shared") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.set("bypass", "on");
  a.set("bypass", "", {"", "on"});
  a.connect();
  REQUIRE(a.outcomes.size() == 4);
  CHECK(a.outcomes[2] == SettingsOutcome{1, OutcomeKind::replaced, a.outcomes[2].message});
  CHECK(a.outcomes[3].kind == OutcomeKind::agreed);
  CHECK(node.settings().values.empty());
  CHECK(node.settings().number == 2);
}

TEST_CASE("A change beyond the settings' bounds is refused") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  a.set("bypass", std::string(kSettingValueBytesMax + 1, 'x'));
  CHECK(a.last() == OutcomeKind::refused);
  a.set("by pass", "on");
  CHECK(a.last() == OutcomeKind::refused);
  CHECK(node.settings().number == 1);
  a.set("bypass", "on");
  CHECK(a.last() == OutcomeKind::agreed);
}

TEST_CASE("Settings that were put back are noticed, and an operator decides") {
  const auto decision = GENERATE(SettingsOrder::Kind::accept, SettingsOrder::Kind::restore);
  SettingsNode node;
  SettingsMember a(node, 1);
  SettingsMember b(node, 2);
  a.connect();
  b.connect();
  a.set("route/api", "observe");
  const std::string old = *node.text;
  a.set("bypass", "on");
  b.pass();
  node.put_back(old);
  a.pass();
  b.pass();
  for (const SettingsMember* const member : {&a, &b}) {
    CHECK(member->share.problem().find("put back") != std::string::npos);
    CHECK(value_of(member->share.known().values, "bypass") == "on");
  }
  // A change waits for that.
  b.set("route/api", "", {"observe"});
  CHECK(b.last() == OutcomeKind::waiting);
  CHECK(node.settings().number == 2);
  a.decide(decision);
  CHECK(a.last() == OutcomeKind::agreed);
  a.pass();
  b.pass();
  CHECK(a.share.problem().empty());
  CHECK(b.share.problem().empty());
  CHECK(b.last() == OutcomeKind::agreed);
  const bool has_bypass = decision == SettingsOrder::Kind::restore;
  CHECK(value_of(node.settings().values, "bypass") == (has_bypass ? "on" : ""));
  CHECK(node.settings().values.size() == (has_bypass ? 1 : 0));
  a.pass();
  CHECK(a.share.known() == node.settings());
}

TEST_CASE("A member that was away notices that settings were put back") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  const std::string old = *node.text;
  a.set("bypass", "on");
  node.put_back(old);
  SettingsMember later(node, 3, a.share.known());
  later.connect();
  CHECK_FALSE(later.adopted.has_value());
  CHECK(later.share.problem().find("put back") != std::string::npos);
  later.decide(SettingsOrder::Kind::restore);
  REQUIRE(later.adopted.has_value());
  CHECK(value_of(later.adopted->values, "bypass") == "on");
}

TEST_CASE("An old read is not taken for settings that were put back") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  const SettingsNode old = node;
  a.set("bypass", "on");
  SettingsNode lagging = old;
  a.now += seconds(1);
  a.share.on_tick(a.now);
  const auto read = a.share.take_action();
  REQUIRE(read.has_value());
  a.share.on_result(lagging.answer(std::get<CoordinationCall>(*read)), a.now);
  a.run();
  a.pass();
  CHECK(a.share.problem().empty());
  CHECK(a.share.is_agreed());
}

TEST_CASE("Nonsense in the settings' node changes nothing, and is named") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  a.set("bypass", "on");
  node.put_back("nonsense");
  a.pass();
  CHECK(a.share.problem().find(kSettingsPath) != std::string::npos);
  CHECK(value_of(a.share.known().values, "bypass") == "on");
  CHECK(a.adoptions == 2);
  a.decide(SettingsOrder::Kind::accept);
  CHECK(a.last() == OutcomeKind::refused);
  a.decide(SettingsOrder::Kind::restore);
  CHECK(a.last() == OutcomeKind::agreed);
  CHECK(value_of(node.settings().values, "bypass") == "on");
  CHECK(a.share.problem().empty());
  a.decide(SettingsOrder::Kind::restore);
  CHECK(a.last() == OutcomeKind::refused);
}

TEST_CASE("Settings whose node is gone are restored by a decision alone") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.connect();
  a.set("bypass", "on");
  node.text.reset();
  a.pass();
  CHECK(a.share.problem().find("gone") != std::string::npos);
  CHECK_FALSE(node.text.has_value());
  a.decide(SettingsOrder::Kind::restore);
  CHECK(a.last() == OutcomeKind::agreed);
  CHECK(value_of(node.settings().values, "bypass") == "on");
}

TEST_CASE("Nothing is decided without the service") {
  SettingsNode node;
  SettingsMember a(node, 1);
  a.decide(SettingsOrder::Kind::restore);
  CHECK(a.last() == OutcomeKind::refused);
}

TEST_CASE("Orders that wait are bounded") {
  SettingsNode node;
  SettingsMember a(node, 1);
  for (std::size_t i = 0; i <= SettingsShare::kOrdersMax; ++i)
    a.set("n" + std::to_string(i), "on");
  CHECK(a.last() == OutcomeKind::refused);
}

}  // namespace prophecy::dht

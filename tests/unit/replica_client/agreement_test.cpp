// What a group makes of its agents' votes: answers, failures, and accusations.
#include <array>
#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include "history_table/history_table.hpp"
#include "pbft/wire/epoch_refusal.hpp"
#include "replica_client/pbft_group.hpp"
#include "scripted_agent.hpp"
#include "support/event_loop.hpp"

using namespace prophecy;
using namespace prophecy::replica_client;
using prophecy::test::run_for;
using prophecy::test::run_until;
using prophecy::test::ScriptedAgent;
using prophecy::test::Vote;

namespace {

const std::string kWire = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
const Vote kUnavailable{"", 1 << 16, pbft::ReplyStatus::unavailable};

// An agent's result: the encoded form of a 200 without fields.
std::string page(std::string_view body) {
  Bytes head;
  Writer(head).integer<std::uint16_t>(200);
  const Bytes encoded = sketch::encode({.status = 200, .head = head, .body = body});
  return std::string(as_text(encoded));
}

// With the same votes on every call.
ScriptedAgent::Script always(Vote vote) {
  return [vote = std::move(vote)](const pbft::RequestMessage&) { return vote; };
}

// Outside the order a vote names no place in it.
ScriptedAgent::Script by_order(const std::string& unordered, const Vote& ordered) {
  return [=](const pbft::RequestMessage& request) {
    return request.read_only ? Vote{unordered, 0} : ordered;
  };
}

struct Accusation {
  NodeId replica = 0;
  std::uint64_t call = 0;
  std::string request;
  Bytes vote_digest;
  Bytes agreed_digest;
};

struct Call final : ReplicatedHandler {
  void on_replicated_answer(ReplicatedAnswer given) override {
    ++ends;
    answer = std::move(given);
  }
  void on_replicated_failure(ReplicatedFailure given) override {
    ++ends;
    failure = given;
  }
  std::uint64_t id = 0;
  int ends = 0;
  std::optional<ReplicatedAnswer> answer;
  std::optional<ReplicatedFailure> failure;
};

struct World final : RefutationHandler {
  explicit World(bool agents_are_late = false, Duration deadline = seconds(10)) {
    PbftGroupSettings settings;
    settings.client.session_count = 1;
    settings.replicated_deadline = deadline;
    for (NodeId id = 0; id < 4; ++id) {
      agents[id] = std::make_unique<ScriptedAgent>(io, id);
      settings.agents.push_back(agents[id]->address());
      settings.origins.emplace_back().address = {"127.0.0.1", 1};
    }
    group.emplace(io, settings, pbft::test::ring(kFirstClientId), timeouts, *this, log);
    // Their ports are known, and nobody listens there.
    if (agents_are_late) stop_agents();
    group->start();
    run_for(io, milliseconds(20));
  }
  void stop_agents() {
    for (const auto& agent : agents)
      ports.push_back(agent->address().port);
    for (auto& agent : agents)
      agent.reset();
  }
  void start_agents(const ScriptedAgent::Script& script) {
    for (NodeId id = 0; id < 4; ++id) {
      agents[id] = std::make_unique<ScriptedAgent>(io, id, ports[id]);
      agents[id]->vote(script);
    }
  }
  void on_refuted(const Refutation& refutation) override {
    accusations.push_back(
        {refutation.replica, refutation.call,
         std::string(refutation.method) + " " + std::string(refutation.authority) + " " +
             std::string(refutation.target),
         Bytes(refutation.vote_digest.begin(), refutation.vote_digest.end()),
         Bytes(refutation.agreed_digest.begin(), refutation.agreed_digest.end())});
  }

  void vote(const std::array<ScriptedAgent::Script, 4>& scripts) {
    for (NodeId id = 0; id < 4; ++id)
      agents[id]->vote(scripts[id]);
  }
  [[nodiscard]] std::uint64_t ask(Call& call, ReplicatedKind kind,
                                  const std::string& target = "/a") {
    return group->replicated(
        {.method = "GET", .authority = "x", .target = target, .wire = kWire, .kind = kind}, call);
  }
  // The primary alone gets an ordered request at first; the others see it with the retransmission.
  void run(Call& call, ReplicatedKind kind) {
    call.id = ask(call, kind);
    REQUIRE(run_until(io, [&] { return call.ends == 1; }));
  }

  boost::asio::io_context io{1};
  Logger log{"test", {LogLevel::error, LogFormat::text}};
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::array<std::unique_ptr<ScriptedAgent>, 4> agents;
  std::vector<std::uint16_t> ports;  // of agents that come late
  std::optional<PbftGroup> group;
  std::vector<Accusation> accusations;
};

Bytes digest_of(const std::string& result) {
  const Sha256::Digest digest = sha256(as_bytes(result));
  return {digest.begin(), digest.end()};
}

}  // namespace

TEST_CASE("The answer is what the agents agree on, with its place in the order") {
  World world;
  const auto honest = always({page("the page"), 7 << 16 | 3});
  world.vote({honest, honest, honest, honest});
  Call call;
  world.run(call, ReplicatedKind::ordered);
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.status == 200);
  CHECK(call.answer->form.body == "the page");
  CHECK(call.answer->sigma == (7 << 16 | 3));
  run_for(world.io, milliseconds(50));
  CHECK(call.ends == 1);
  CHECK(world.accusations.empty());
}

TEST_CASE("A vote that the answer refutes is reported once, be it early or late") {
  World world;
  const auto honest = always({page("the page")});
  world.vote({honest, honest, honest, always({page("a lie")})});
  const bool late = GENERATE(false, true);
  for (NodeId id = 0; id < 4; ++id)
    if ((id == 3) == late) world.agents[id]->hold();
  Call call;
  const std::string target = "/" + std::string(2000, 'a');
  call.id = world.ask(call, ReplicatedKind::ordered, target);
  // Twice retransmitted: all have voted, and have done so more than once.
  run_for(world.io, milliseconds(500));
  CHECK(call.ends == (late ? 1 : 0));
  CHECK(world.accusations.empty());
  for (const auto& agent : world.agents)
    agent->let_go();
  REQUIRE(run_until(world.io, [&] { return !world.accusations.empty(); }));
  run_for(world.io, milliseconds(50));
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.body == "the page");
  REQUIRE(world.accusations.size() == 1);
  CHECK(world.accusations[0].replica == 3);
  CHECK(world.accusations[0].call == call.id);
  CHECK(world.accusations[0].request == "GET x " + target.substr(0, RequestNote::kTargetBytesMax));
  CHECK(world.accusations[0].vote_digest == digest_of(page("a lie")));
  CHECK(world.accusations[0].agreed_digest == digest_of(page("the page")));
}

TEST_CASE("Agents agree on a refusal for the view that a request names") {
  World world;
  const bool is_old = GENERATE(true, false);
  const auto kind = is_old ? pbft::EpochRefusal::Kind::too_old : pbft::EpochRefusal::Kind::too_new;
  const std::string refused(as_text(pbft::encode(pbft::EpochRefusal{kind, 6})));
  std::uint64_t named = 0;
  const ScriptedAgent::Script refuse = [&](const pbft::RequestMessage& request) {
    named = request.epoch;
    return Vote{refused};
  };
  // A liar alone refuses nothing.
  const bool is_lie = GENERATE(false, true);
  const auto honest = is_lie ? always({page("done")}) : refuse;
  world.vote({honest, honest, honest, refuse});
  Call call;
  call.id = world.group->replicated(
      {.method = "POST", .authority = "x", .target = "/a", .wire = kWire, .view = 5}, call);
  REQUIRE(run_until(world.io, [&] { return call.ends == 1; }));
  if (is_lie) {
    CHECK(call.answer.has_value());
    return;
  }
  CHECK(named == 5);
  CHECK(call.failure ==
        (is_old ? ReplicatedFailure::view_too_old : ReplicatedFailure::view_too_new));
}

TEST_CASE("A late accusation names the call that the vote was on") {
  World world;
  const auto honest = always({page("the page")});
  world.vote({honest, honest, honest, always({page("a lie")})});
  world.agents[3]->hold();
  Call first, second;
  world.run(first, ReplicatedKind::ordered);
  world.run(second, ReplicatedKind::ordered);
  CHECK(first.id != second.id);
  CHECK(world.accusations.empty());
  world.agents[3]->let_go();
  REQUIRE(run_until(world.io, [&] { return !world.accusations.empty(); }));
  // The session has forgotten the call before.
  REQUIRE(world.accusations.size() == 1);
  CHECK(world.accusations[0].call == second.id);
  CHECK(world.accusations[0].request == "GET x /a");
}

TEST_CASE("An agreement on what cannot be an answer is none") {
  World world;
  const auto broken = always(GENERATE(Vote{"nonsense"}, Vote{page("placeless"), 0},
                                      Vote{page("beyond all places"), kSigmaMax + 1}));
  world.vote({broken, broken, broken, broken});
  Call call;
  world.run(call, ReplicatedKind::ordered);
  CHECK(call.failure == ReplicatedFailure::no_agreement);
}

TEST_CASE("A call without a quorum says whether agents lack an answer or agreement") {
  World world;
  Call call;
  SECTION("an answer") {
    // The group has started: what it says is final.
    const auto honest = always({page("the page")});
    world.vote({honest, honest, honest, honest});
    Call first;
    world.run(first, ReplicatedKind::ordered);
    const auto down = always(kUnavailable);
    world.vote({honest, down, down, down});
    world.run(call, ReplicatedKind::ordered);
    CHECK(call.failure == ReplicatedFailure::too_few_replicas);
  }
  SECTION("agreement") {
    world.vote(
        {always({page("a")}), always({page("b")}), always({page("c")}), always({page("d")})});
    world.run(call, ReplicatedKind::ordered);
    CHECK(call.failure == ReplicatedFailure::no_agreement);
  }
  CHECK(world.accusations.empty());
}

TEST_CASE("A read outside the order has no place in it, and accuses nobody") {
  World world;
  const auto honest = by_order(page("the page"), {});
  world.vote({honest, honest, honest, by_order(page("the page before"), {})});
  Call call;
  world.run(call, ReplicatedKind::read_only);
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.body == "the page");
  CHECK(call.answer->sigma == 0);
  run_for(world.io, milliseconds(50));
  CHECK(world.accusations.empty());
}

TEST_CASE("A read that must be ordered has a place, and its ordered votes accuse") {
  World world;
  const Vote ordered{page("the page"), 9 << 16};
  const auto late = by_order(page("the page before"), ordered);
  const auto honest = by_order(page("the page"), ordered);
  world.vote({honest, late, late, by_order(page("a lie"), {page("a lie"), 9 << 16})});
  Call call;
  world.run(call, ReplicatedKind::read_only);
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.body == "the page");
  CHECK(call.answer->sigma == 9 << 16);
  run_for(world.io, milliseconds(50));
  REQUIRE(world.accusations.size() == 1);
  CHECK(world.accusations[0].replica == 3);
  CHECK(world.accusations[0].call == call.id);
  CHECK(world.accusations[0].request == "GET x /a");
}

TEST_CASE("A read that must be ordered and gets no place in the order has no answer") {
  World world;
  const Vote placeless{page("the page"), 0};
  const auto other = by_order(page("another"), placeless);
  const auto honest = by_order(page("the page"), placeless);
  world.vote({honest, honest, other, other});
  Call call;
  world.run(call, ReplicatedKind::read_only);
  CHECK(call.failure == ReplicatedFailure::no_agreement);
}

TEST_CASE("A call waits for agents that come up after it was made") {
  World world(true);
  Call call;
  (void)world.ask(call, ReplicatedKind::ordered);
  run_for(world.io, milliseconds(300));
  CHECK(call.ends == 0);
  world.start_agents(always({page("the page")}));
  REQUIRE(run_until(world.io, [&] { return call.ends == 1; }));
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.body == "the page");
}

TEST_CASE("A read waits for agents whose origins come up after it was made") {
  World world;
  bool up = false;
  const auto starting = [&](const pbft::RequestMessage&) {
    return up ? Vote{page("the page")} : kUnavailable;
  };
  world.vote({starting, starting, starting, starting});
  Call call, cancelled;
  (void)world.ask(call, ReplicatedKind::ordered);
  run_for(world.io, milliseconds(300));
  CHECK(call.ends == 0);
  world.group->cancel_replicated(world.ask(cancelled, ReplicatedKind::ordered));
  run_for(world.io, milliseconds(300));
  up = true;
  REQUIRE(run_until(world.io, [&] { return call.ends == 1; }));
  REQUIRE(call.answer.has_value());
  CHECK(call.answer->form.body == "the page");
  run_for(world.io, milliseconds(50));
  CHECK(call.ends == 1);
  CHECK(cancelled.ends == 0);
}

TEST_CASE("A read that was submitted again is cancelled by the id that its caller knows") {
  World world;
  const auto down = always(kUnavailable);
  world.vote({down, down, down, down});
  Call call;
  const std::uint64_t id = world.ask(call, ReplicatedKind::ordered);
  run_for(world.io, milliseconds(500));
  world.group->cancel_replicated(id);
  const auto honest = always({page("the page")});
  world.vote({honest, honest, honest, honest});
  Call next;
  world.run(next, ReplicatedKind::ordered);
  CHECK(next.answer.has_value());
  CHECK(call.ends == 0);
}

TEST_CASE("A read waits for the group's start no longer than up to its deadline") {
  World world(false, milliseconds(500));
  const auto down = always(kUnavailable);
  world.vote({down, down, down, down});
  Call call;
  world.run(call, ReplicatedKind::ordered);
  CHECK(call.failure == ReplicatedFailure::too_few_replicas);
}

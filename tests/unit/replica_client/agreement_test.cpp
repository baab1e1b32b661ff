// What a group makes of its agents' votes: answers, failures, and accusations.
#include <array>
#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include "history_table/history_table.hpp"
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

const std::string kGet = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
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
  std::string request_head;
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
  int ends = 0;
  std::optional<ReplicatedAnswer> answer;
  std::optional<ReplicatedFailure> failure;
};

struct World final : RefutationHandler {
  World() {
    PbftGroupSettings settings;
    settings.client.session_count = 1;
    for (NodeId id = 0; id < 4; ++id) {
      agents[id] = std::make_unique<ScriptedAgent>(io, id);
      settings.agents.push_back(agents[id]->address());
      settings.origins.emplace_back().address = {"127.0.0.1", 1};
    }
    group.emplace(io, settings, pbft::test::ring(kFirstClientId), timeouts, *this, log);
    group->start();
    run_for(io, milliseconds(20));
  }
  void on_refuted(const Refutation& refutation) override {
    accusations.push_back(
        {refutation.replica, std::string(refutation.request_head),
         Bytes(refutation.vote_digest.begin(), refutation.vote_digest.end()),
         Bytes(refutation.agreed_digest.begin(), refutation.agreed_digest.end())});
  }

  void vote(const std::array<ScriptedAgent::Script, 4>& scripts) {
    for (NodeId id = 0; id < 4; ++id)
      agents[id]->vote(scripts[id]);
  }
  // The primary alone gets an ordered request at first; the others see it with the retransmission.
  void run(Call& call, ReplicatedKind kind, const std::string& wire = kGet) {
    (void)group->replicated(kind, wire, nullptr, call);
    REQUIRE(run_until(io, [&] { return call.ends == 1; }));
  }

  boost::asio::io_context io{1};
  Logger log{"test", {LogLevel::error, LogFormat::text}};
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::array<std::unique_ptr<ScriptedAgent>, 4> agents;
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
  const std::string wire = "GET /" + std::string(2000, 'a') + " HTTP/1.1\r\nhost: x\r\n\r\n";
  (void)world.group->replicated(ReplicatedKind::ordered, wire, nullptr, call);
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
  CHECK(world.accusations[0].request_head == wire.substr(0, 1024));
  CHECK(world.accusations[0].vote_digest == digest_of(page("a lie")));
  CHECK(world.accusations[0].agreed_digest == digest_of(page("the page")));
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
    const auto down = always(kUnavailable);
    world.vote({always({page("the page")}), down, down, down});
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
  CHECK(world.accusations[0].request_head == kGet);
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

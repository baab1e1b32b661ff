// What a group does on its own, without agents; agreement_test.cpp has some.
#include "replica_client/pbft_group.hpp"

#include <functional>
#include <optional>

#include <catch2/catch.hpp>

#include "pbft/group.hpp"
#include "pbft/links/link_tls.hpp"
#include "pbft/transport/replica_transport.hpp"
#include "support/captured_log.hpp"
#include "support/event_loop.hpp"
#include "support/scripted_origin.hpp"

using namespace prophecy;
using namespace prophecy::replica_client;
using prophecy::test::answer;
using prophecy::test::run_for;
using prophecy::test::run_until;
using prophecy::test::ScriptedOrigin;
using prophecy::test::Step;

namespace {

const std::string kGet = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
ReplicatedRequest read_of(ReplicatedKind kind = ReplicatedKind::ordered) {
  return {.method = "GET", .authority = "x", .target = "/a", .wire = kGet, .kind = kind};
}

using Failures = std::vector<ReplicatedFailure>;

struct FastRead final : http::OriginHandler {
  void on_exchange_end(http::OriginExchange&, http::ExchangeEnd how,
                       http::Response& response) override {
    end = how;
    body = response.body;
  }
  http::ExchangeEnd end{};
  std::string body;
  http::OriginExchange exchange{*this};
};

struct UnansweredCall final : ReplicatedHandler {
  void on_replicated_answer(ReplicatedAnswer) override { FAIL("nobody can have answered"); }
  void on_replicated_failure(ReplicatedFailure failure) override {
    failures.push_back(failure);
    then();
  }
  Failures failures;
  std::function<void()> then = [] {};
};

struct FastWorld final : RefutationHandler {
  // Four origins that say who they are, and four agents that are not there.
  explicit FastWorld(Duration deadline = seconds(10)) {
    PbftGroupSettings settings;
    settings.client.session_count = 1;
    settings.client.queue_max = 1;
    settings.replicated_deadline = deadline;
    for (NodeId id = 0; id < 4; ++id) {
      const std::string body = "origin " + std::to_string(id);
      origins.push_back(std::make_unique<ScriptedOrigin>(io, std::deque<Step>{answer(body)}));
      settings.origins.emplace_back().address = origins.back()->address();
      settings.agents.push_back({"127.0.0.1", 1});
    }
    group.emplace(io, settings, pbft::test::ring(kFirstClientId), timeouts, *this, log);
    group->start();
  }
  void on_refuted(const Refutation&) override { FAIL("nobody can have voted"); }

  boost::asio::io_context io{1};
  Logger log{"test", {LogLevel::error, LogFormat::text}};
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::vector<std::unique_ptr<ScriptedOrigin>> origins;
  std::optional<PbftGroup> group;
};

}  // namespace

TEST_CASE("A fast read goes to the replica's own origin, and to nobody else") {
  FastWorld world;
  CHECK(world.group->size() == 4);
  CHECK(world.group->faults() == 1);
  for (NodeId id = 0; id < 4; ++id) {
    FastRead call;
    world.group->fast(call.exchange, id, kGet, {});
    REQUIRE(run_until(world.io, [&] { return !call.exchange.active(); }));
    CHECK(call.end == http::ExchangeEnd::answered);
    CHECK(call.body == "origin " + std::to_string(id));
  }
  for (const auto& origin : world.origins)
    CHECK(origin->requests == std::vector<std::string>{kGet});
}

TEST_CASE("A fast read survives a kept-alive connection that its origin closes under it") {
  FastWorld world;
  ScriptedOrigin& origin = *world.origins[2];
  for (int i = 0; i < 2; ++i) {
    FastRead call;
    world.group->fast(call.exchange, 2, kGet, {});
    // The request may have been written already when the origin hangs up.
    if (i == 1) origin.close_all();
    REQUIRE(run_until(world.io, [&] { return !call.exchange.active(); }));
    CHECK(call.end == http::ExchangeEnd::answered);
  }
  CHECK(origin.accepted == 2);
}

TEST_CASE("Without agents a call fails at its deadline, and its handler may start another") {
  const auto kind = GENERATE(ReplicatedKind::ordered, ReplicatedKind::read_only);
  FastWorld world(milliseconds(50));
  UnansweredCall call;
  call.then = [&] {
    if (call.failures.size() < 2) (void)world.group->replicated(read_of(kind), call);
  };
  CHECK(world.group->replicated(read_of(kind), call) != 0);
  CHECK(call.failures.empty());
  REQUIRE(run_until(world.io, [&] { return call.failures.size() == 2; }));
  CHECK(call.failures == Failures(2, ReplicatedFailure::too_few_replicas));
}

TEST_CASE("A cancelled call hears nothing, and makes room in the queue") {
  FastWorld world(milliseconds(50));
  UnansweredCall running, queued, next;
  const std::uint64_t first = world.group->replicated(read_of(), running);
  const std::uint64_t second = world.group->replicated(read_of(), queued);
  CHECK(first != second);
  world.group->cancel_replicated(second);
  (void)world.group->replicated(read_of(), next);
  CHECK(next.failures.empty());
  world.group->cancel_replicated(first);
  world.group->cancel_replicated(first);  // as if it had just ended
  REQUIRE(run_until(world.io, [&] { return !next.failures.empty(); }));
  run_for(world.io, milliseconds(100));
  CHECK(next.failures == Failures{ReplicatedFailure::too_few_replicas});
  CHECK(running.failures.empty());
  CHECK(queued.failures.empty());
}

TEST_CASE("What cannot be carried fails at once, but not before the caller knows its id") {
  FastWorld world;
  UnansweredCall running, queued, beyond;
  (void)world.group->replicated(read_of(), running);
  (void)world.group->replicated(read_of(), queued);
  (void)world.group->replicated(read_of(), beyond);
  CHECK(beyond.failures.empty());
  world.io.poll();
  CHECK(beyond.failures == Failures{ReplicatedFailure::overloaded});
  CHECK(running.failures.empty());
  CHECK(queued.failures.empty());
}

namespace {

// Replica 0, which speaks to nobody.
struct Agent final : pbft::ReplicaTransport::Handler {
  Agent(boost::asio::io_context& io, std::shared_ptr<const pbft::LinkTls> links)
      : transport(io, settings(std::move(links)), {0, {{"127.0.0.1", 0}}},
                  std::move(*pbft::listen_on(io, {"127.0.0.1", 0})), *this) {
    transport.start();
  }
  ~Agent() { transport.stop(); }
  static pbft::TransportSettings settings(std::shared_ptr<const pbft::LinkTls> links) {
    pbft::TransportSettings made;
    made.frame_bytes_max = 1 << 20;
    made.tls = std::move(links);
    return made;
  }
  bool on_frame(ByteView /*frame*/) override { return false; }
  void on_frames_end() override {}
  void on_peer_state(NodeId /*peer*/, bool /*connected*/) override {}
  void on_peer_gone(NodeId /*peer*/) override {}
  pbft::Frame on_link_key_frame(NodeId /*peer*/, ByteView /*frame*/) override { return nullptr; }
  pbft::KeyAnswer on_accepted_key_frame(pbft::ConnectionTag /*tag*/, ByteView frame) override {
    return {std::make_shared<const Bytes>(frame.begin(), frame.end()), false};
  }
  void on_accepted_closed(pbft::ConnectionTag /*tag*/) override {}
  void on_accepted_insecure(const std::string& /*reason*/) override { ++refused; }

  int refused = 0;
  pbft::ReplicaTransport transport;
};

}  // namespace

TEST_CASE("An agent that refuses the sketcher's key is logged once, and never as connected") {
  const prophecy::test::CapturedLog captured;
  const bool is_stranger = GENERATE(true, false);
  const auto agent_keys = pbft::generate_private_keys();
  const auto own_keys = pbft::generate_private_keys();
  const auto shown_keys = is_stranger ? pbft::generate_private_keys() : own_keys;
  REQUIRE((agent_keys && own_keys && shown_keys));
  const std::vector<pbft::Member> members{{0, *pbft::public_keys_of(*agent_keys)},
                                          {1024, *pbft::public_keys_of(*own_keys)}};
  FastWorld world;
  Agent agent(world.io, *pbft::LinkTls::make(0, *agent_keys, members));
  Logger log{"test", {LogLevel::info, LogFormat::text}};
  PbftGroupSettings settings;
  settings.client.session_count = 1;
  settings.agents.push_back(agent.transport.local_address());
  for (NodeId id = 1; id < 4; ++id)
    settings.agents.push_back({"127.0.0.1", 1});
  settings.links = *pbft::LinkTls::make(1024, *shown_keys, members);
  PbftGroup group(world.io, settings, pbft::test::ring(kFirstClientId), world.timeouts, world, log);
  group.start();
  if (is_stranger) {
    REQUIRE(run_until(world.io, [&] { return agent.refused >= 5; }));
    CHECK(captured.lines_with("agent-link-refused replica=0") == 1);
    CHECK(captured.lines_with("agent-connected") == 0);
    CHECK(captured.lines_with("agent-lost") == 0);
  } else {
    REQUIRE(run_until(world.io, [&] { return captured.lines_with("agent-connected") == 1; }));
    CHECK(captured.lines_with("agent-link-refused") == 0);
  }
}

// What a group without agents does with its votes; the end-to-end tests have the most of it.
#include "replica_client/vote_group.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <catch2/catch.hpp>

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

const std::string kPut = "PUT /a HTTP/1.1\r\nhost: x\r\nContent-Length: 100\r\n\r\n";

struct Zeros final : ByteSource {
  [[nodiscard]] std::uint64_t size() const override { return 100; }
  [[nodiscard]] bool read(std::uint64_t, std::span<char> into) const override {
    std::fill(into.begin(), into.end(), '0');
    return true;
  }
};

struct Call final : ReplicatedHandler {
  void on_replicated_answer(ReplicatedAnswer) override { answered = true; }
  void on_replicated_failure(ReplicatedFailure why) override { failure = why; }
  bool answered = false;
  std::optional<ReplicatedFailure> failure;
};

struct World final : RefutationHandler {
  // Three origins, of which the first two take everything and answer nothing. No time-out of an
  // exchange happens: nobody looks at the queues.
  explicit World(Duration age_max) {
    VoteGroupSettings settings;
    settings.takes_writes = true;
    settings.age_max = age_max;
    for (NodeId id = 0; id < 3; ++id) {
      const Step step = id < 2 ? Step{} : answer("done");
      origins.push_back(std::make_unique<ScriptedOrigin>(io, std::deque<Step>{step}));
      origins.back()->awaits_bodies = true;
      settings.origins.emplace_back().address = origins.back()->address();
    }
    group.emplace(io, settings, profile, timeouts, sigmas, *this);
  }
  void on_refuted(const Refutation&) override { FAIL("nobody has contradicted"); }
  void on_vote(NodeId, http::ExchangeEnd end) override { ends.push_back(end); }

  boost::asio::io_context io{1};
  sketch::Profile profile;
  SigmaCounter sigmas;
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::vector<std::unique_ptr<ScriptedOrigin>> origins;
  std::vector<http::ExchangeEnd> ends;
  std::optional<VoteGroup> group;
};

}  // namespace

TEST_CASE("A write with a body in a file ends, whatever its origins do") {
  World world(milliseconds(50));
  Call call;
  auto body = std::make_shared<const Zeros>();
  const std::weak_ptr<const Zeros> held = body;
  world.group->replicated(ReplicatedKind::ordered, kPut, std::move(body), call);
  REQUIRE(run_until(world.io, [&] { return call.failure.has_value(); }));
  CHECK(call.failure == ReplicatedFailure::too_few_replicas);
  std::sort(world.ends.begin(), world.ends.end());
  CHECK(world.ends == std::vector{http::ExchangeEnd::answered, http::ExchangeEnd::timed_out,
                                  http::ExchangeEnd::timed_out});
  CHECK(run_until(world.io, [&] { return held.expired(); }));
}

TEST_CASE("Before that its origins have the time of an answer") {
  World world(seconds(100));
  Call call;
  world.group->replicated(ReplicatedKind::ordered, kPut, std::make_shared<const Zeros>(), call);
  run_for(world.io, milliseconds(200));
  CHECK_FALSE(call.failure.has_value());
  CHECK_FALSE(call.answered);
}

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
  explicit World(Duration age_max) : World(age_max, {Step{}, Step{}, answer("done")}) {}
  // An origin for each step. Those without one are not there.
  World(Duration age_max, const std::vector<std::optional<Step>>& steps) {
    VoteGroupSettings settings;
    settings.takes_writes = true;
    settings.age_max = age_max;
    for (const std::optional<Step>& step : steps) {
      auto origin = std::make_unique<ScriptedOrigin>(io, std::deque{step.value_or(Step{})});
      origin->awaits_bodies = true;
      settings.origins.emplace_back().address = origin->address();
      if (step) origins.push_back(std::move(origin));
    }
    group.emplace(io, settings, profile, timeouts, sigmas, *this);
  }
  void on_refuted(const Refutation& refutation) override { refuted.push_back(refutation.replica); }
  void on_vote(NodeId, http::ExchangeEnd end) override { ends.push_back(end); }

  boost::asio::io_context io{1};
  sketch::Profile profile;
  SigmaCounter sigmas;
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::vector<std::unique_ptr<ScriptedOrigin>> origins;
  std::vector<http::ExchangeEnd> ends;
  std::vector<NodeId> refuted;
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
  CHECK(call.failure == ReplicatedFailure::uncertain_write);
  CHECK(world.refuted.empty());
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

namespace {

const std::string kDelete = "DELETE /a HTTP/1.1\r\nhost: x\r\n\r\n";

// How a request to such origins ends: "answered", or why not.
std::string end_of(World& world, const std::string& wire) {
  Call call;
  world.group->replicated(ReplicatedKind::ordered, wire, nullptr, call);
  REQUIRE(run_until(world.io, [&] { return call.answered || call.failure; }));
  return call.answered ? "answered" : std::string(to_string(*call.failure));
}

}  // namespace

TEST_CASE("A write has succeeded when all but f origins have answered it alike") {
  const Step done = answer("done");
  const Step other = answer("other");
  const Step closes{"", true};
  const auto end = [](const std::vector<std::optional<Step>>& steps, const std::string& wire) {
    World world(seconds(100), steps);
    return end_of(world, wire);
  };
  CHECK(end({done, done, done, done}, kDelete) == "answered");
  CHECK(end({done, std::nullopt, done, done}, kDelete) == "answered");
  CHECK(end({done, done, closes, done}, kDelete) == "answered");
  CHECK(end({other, done, done, done}, kDelete) == "answered");
  CHECK(end({done, done, std::nullopt, std::nullopt}, kDelete) == "uncertain-write");
  CHECK(end({done, other, done, std::nullopt}, kDelete) == "uncertain-write");
  CHECK(end({done, done, other, other}, kDelete) == "uncertain-write");
  CHECK(end({done, closes, closes, closes}, kDelete) == "uncertain-write");
  CHECK(end({closes, std::nullopt, std::nullopt, std::nullopt}, kDelete) == "uncertain-write");
  // Nobody has seen it.
  const std::vector<std::optional<Step>> none(4);
  CHECK(end(none, kDelete) == "too-few-replicas");
  // What changes nothing takes f+1.
  for (const std::string method : {"GET", "OPTIONS"}) {
    const std::string safe = method + " /a HTTP/1.1\r\nhost: x\r\n\r\n";
    CHECK(end({done, done, std::nullopt, std::nullopt}, safe) == "answered");
  }
}

TEST_CASE("Who contradicts f+1 on a write is named, though the write is uncertain") {
  World world(seconds(100), {answer("done"), answer("done"), answer("lie"), std::nullopt});
  CHECK(end_of(world, kDelete) == "uncertain-write");
  CHECK(world.refuted == std::vector<NodeId>{2});
}

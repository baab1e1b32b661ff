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

const std::string kPutWire = "PUT /a HTTP/1.1\r\nhost: x\r\nContent-Length: 100\r\n\r\n";

ReplicatedRequest put_of(ByteSourcePtr body) {
  return {
      .method = "PUT", .authority = "x", .target = "/a", .wire = kPutWire, .body = std::move(body)};
}

constexpr std::uint64_t kVoteBytesPerSecond = 1 << 20;
const std::string kPiece = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";

struct Zeros final : ByteSource {
  [[nodiscard]] std::uint64_t size() const override { return 100; }
  [[nodiscard]] bool read(std::uint64_t, std::span<char> into) const override {
    std::fill(into.begin(), into.end(), '0');
    return true;
  }
};

struct VotedCall final : ReplicatedHandler {
  void on_replicated_answer(ReplicatedAnswer) override { answered = true; }
  void on_replicated_failure(ReplicatedFailure why) override { failure = why; }
  std::uint64_t id = 0;
  bool answered = false;
  std::optional<ReplicatedFailure> failure;
};

struct FastCall final : http::OriginHandler {
  void on_exchange_end(http::OriginExchange&, http::ExchangeEnd how, http::Response&) override {
    end = how;
  }
  http::ExchangeEnd end{};
  http::OriginExchange exchange{*this};
};

struct Refuted {
  NodeId replica = 0;
  std::uint64_t call = 0;
  std::string request;
};

struct VoteWorld final : RefutationHandler {
  // Three origins, of which the first two take everything and answer nothing. No time-out of an
  // exchange happens: nobody looks at the queues.
  explicit VoteWorld(Duration age_max) : VoteWorld(age_max, {Step{}, Step{}, answer("done")}) {}
  // An origin for each step. Those without one are not there.
  VoteWorld(Duration age_max, const std::vector<std::optional<Step>>& steps) {
    VoteGroupSettings settings;
    settings.takes_writes = true;
    settings.age_max = age_max;
    settings.vote_bytes_per_second = kVoteBytesPerSecond;
    for (const std::optional<Step>& step : steps) {
      auto origin = std::make_unique<ScriptedOrigin>(io, std::deque{step.value_or(Step{})});
      origin->awaits_bodies = true;
      settings.origins.emplace_back().address = origin->address();
      if (step) origins.push_back(std::move(origin));
    }
    group.emplace(io, settings, profile, timeouts, sigmas, *this);
  }
  void on_refuted(const Refutation& refutation) override {
    refuted.push_back({refutation.replica, refutation.call,
                       std::string(refutation.method) + " " + std::string(refutation.authority) +
                           " " + std::string(refutation.target)});
  }
  void on_vote(NodeId, http::ExchangeEnd end) override { ends.push_back(end); }

  boost::asio::io_context io{1};
  sketch::Profile profile;
  SigmaCounter sigmas;
  http::OriginTimeouts timeouts{TimeoutQueue(seconds(1)), TimeoutQueue(seconds(2)),
                                TimeoutQueue(seconds(3))};
  std::vector<std::unique_ptr<ScriptedOrigin>> origins;
  std::vector<http::ExchangeEnd> ends;
  std::vector<Refuted> refuted;
  std::optional<VoteGroup> group;
};

}  // namespace

TEST_CASE("A write with a body in a file ends, whatever its origins do") {
  VoteWorld world(milliseconds(50));
  VotedCall call;
  auto body = std::make_shared<const Zeros>();
  const std::weak_ptr<const Zeros> held = body;
  world.group->replicated(put_of(std::move(body)), call);
  REQUIRE(run_until(world.io, [&] { return call.failure.has_value(); }));
  CHECK(call.failure == ReplicatedFailure::uncertain_write);
  CHECK(world.refuted.empty());
  std::sort(world.ends.begin(), world.ends.end());
  CHECK(world.ends == std::vector{http::ExchangeEnd::answered, http::ExchangeEnd::timed_out,
                                  http::ExchangeEnd::timed_out});
  CHECK(run_until(world.io, [&] { return held.expired(); }));
}

TEST_CASE("Before that its origins have the time of an answer") {
  VoteWorld world(seconds(100));
  VotedCall call;
  world.group->replicated(put_of(std::make_shared<const Zeros>()), call);
  run_for(world.io, milliseconds(200));
  CHECK_FALSE(call.failure.has_value());
  CHECK_FALSE(call.answered);
}

namespace {

// How a request to such origins ends: "answered", or why not.
std::string end_of(VoteWorld& world, VotedCall& call, const std::string& method) {
  const std::string wire = method + " /a HTTP/1.1\r\nhost: x\r\n\r\n";
  call.id = world.group->replicated(
      {.method = method, .authority = "x", .target = "/a", .wire = wire}, call);
  REQUIRE(run_until(world.io, [&] { return call.answered || call.failure; }));
  return call.answered ? "answered" : std::string(to_string(*call.failure));
}

}  // namespace

TEST_CASE("A write has succeeded when all but f origins have answered it alike") {
  const Step done = answer("done");
  const Step other = answer("other");
  const Step closes{"", true};
  const auto end = [](const std::vector<std::optional<Step>>& steps, const std::string& method) {
    VoteWorld world(seconds(100), steps);
    VotedCall call;
    return end_of(world, call, method);
  };
  CHECK(end({done, done, done, done}, "DELETE") == "answered");
  CHECK(end({done, std::nullopt, done, done}, "DELETE") == "answered");
  CHECK(end({done, done, closes, done}, "DELETE") == "answered");
  CHECK(end({other, done, done, done}, "DELETE") == "answered");
  CHECK(end({done, done, std::nullopt, std::nullopt}, "DELETE") == "uncertain-write");
  CHECK(end({done, other, done, std::nullopt}, "DELETE") == "uncertain-write");
  CHECK(end({done, done, other, other}, "DELETE") == "uncertain-write");
  CHECK(end({done, closes, closes, closes}, "DELETE") == "uncertain-write");
  CHECK(end({closes, std::nullopt, std::nullopt, std::nullopt}, "DELETE") == "uncertain-write");
  // Nobody has seen it.
  const std::vector<std::optional<Step>> none(4);
  CHECK(end(none, "DELETE") == "too-few-replicas");
  // What changes nothing takes f+1.
  for (const std::string method : {"GET", "OPTIONS"}) {
    CHECK(end({done, done, std::nullopt, std::nullopt}, method) == "answered");
  }
}

TEST_CASE("Who contradicts f+1 on a write is named, though the write is uncertain") {
  VoteWorld world(seconds(100), {answer("done"), answer("done"), answer("lie"), std::nullopt});
  VotedCall call;
  CHECK(end_of(world, call, "DELETE") == "uncertain-write");
  REQUIRE(world.refuted.size() == 1);
  CHECK(world.refuted[0].replica == 2);
  CHECK(world.refuted[0].call == call.id);
  CHECK(world.refuted[0].request == "DELETE x /a");
}

TEST_CASE("A hundred HEADs that the history verifies take one connection to their origin") {
  VoteWorld world(seconds(100), {Step{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"}});
  for (int i = 0; i < 100; ++i) {
    FastCall call;
    world.group->fast(call.exchange, 0, "HEAD /a HTTP/1.1\r\nhost: x\r\n\r\n",
                      {.is_head = true, .is_verified = true});
    REQUIRE(run_until(world.io, [&] { return !call.exchange.active(); }));
    CHECK(call.end == http::ExchangeEnd::answered);
  }
  CHECK(world.origins[0]->accepted == 1);
}

namespace {

// Its body goes on for as long as the test sends pieces.
const Step kStream{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"};

// A read that so many origins have answered, and the last one has got.
struct OpenRead {
  OpenRead(VoteWorld& world, std::size_t votes) {
    world.group->replicated({.method = "GET",
                             .authority = "x",
                             .target = "/a",
                             .wire = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n"},
                            call);
    REQUIRE(run_until(world.io, [&] { return world.ends.size() == votes; }));
    REQUIRE(run_until(world.io, [&] { return world.origins.back()->requests.size() == 1; }));
  }
  VotedCall call;
};

}  // namespace

TEST_CASE("A vote whose declared length is beyond every list of blocks is refused at its head") {
  const Step endless{"HTTP/1.1 200 OK\r\nContent-Length: 100000000000000000\r\n\r\n"};
  VoteWorld world(seconds(100), {answer("a"), answer("b"), answer("c"), endless});
  VotedCall call;
  CHECK(end_of(world, call, "GET") == "no-agreement");
}

TEST_CASE("A vote that has become longer than all others, which are whole, is read no further") {
  VoteWorld world(seconds(100), {answer("a"), answer("b"), answer("c"), kStream});
  OpenRead read(world, 3);
  int pieces = 0;
  while (!read.call.failure && pieces < 64) {  // 4 MiB
    world.origins[3]->send(0, kPiece);
    ++pieces;
    run_for(world.io, milliseconds(1));
  }
  CHECK(read.call.failure == ReplicatedFailure::no_agreement);
}

TEST_CASE("The votes of one origin are read no quicker than its budget allows") {
  VoteWorld world(seconds(100), {answer("a"), answer("b"), Step{}, kStream});
  OpenRead read(world, 2);
  const TimePoint begun = std::chrono::steady_clock::now();
  constexpr int kPieces = 24;  // for half a second more than what is there at first
  for (int i = 0; i < kPieces; ++i) {
    world.origins[3]->send(0, kPiece);
    world.io.poll();
  }
  world.origins[3]->send(0, "0\r\n\r\n");
  REQUIRE(run_until(world.io, [&] { return world.ends.size() == 3; }));
  CHECK(std::chrono::steady_clock::now() - begun > milliseconds(200));
}

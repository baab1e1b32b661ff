#include "http_world.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

// A request that is read; `lost_from` on, it cannot be any more.
class Text final : public ByteSource {
 public:
  explicit Text(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::uint64_t size() const override { return text_.size(); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override {
    if (offset + into.size() > lost_from) return false;
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
    return true;
  }
  [[nodiscard]] std::string_view text() const { return text_; }
  std::uint64_t lost_from = UINT64_MAX;

 private:
  std::string text_;
};

Outcome run_read(World& world, const std::shared_ptr<Text>& text, std::size_t front) {
  Execution execution;
  execution.sigma = 1;
  execution.storage = std::make_shared<const Bytes>(to_bytes(text->text().substr(0, front)));
  execution.operation = *execution.storage;
  execution.whole = text;
  Outcome outcome;
  world.service.execute(execution, [&outcome](ExecutionStatus status, Bytes result) {
    outcome = {true, status, std::move(result)};
  });
  REQUIRE(run_until(*World::io, [&] { return outcome.done; }));
  return outcome;
}

std::shared_ptr<Text> large_put(std::size_t declared, std::size_t size) {
  return std::make_shared<Text>(
      "PUT /a HTTP/1.1\r\nHost: x\r\nProphecy-Time: no\r\nContent-Length: " +
      std::to_string(declared) + "\r\n\r\n" + std::string(size, 'b'));
}

}  // namespace

TEST_CASE("A request that is not in memory goes to the origin as it is read") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("stored")});
  origin.awaits_bodies = true;
  World world(origin.address());
  const Outcome outcome = run_read(world, large_put(300'000, 300'000), 1000);
  CHECK(outcome.status == ExecutionStatus::done);
  CHECK(outcome.form().body == "stored");
  REQUIRE(origin.requests.size() == 1);
  const std::string& received = origin.requests[0];
  CHECK(received.find("Prophecy-Time") == std::string::npos);
  CHECK(received.find("prophecy-sequence: 1\r\n") != std::string::npos);
  CHECK(received.ends_with("\r\n\r\n" + std::string(300'000, 'b')));
}

TEST_CASE("A request that is not in memory has to be what its head says") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("never")});
  World world(origin.address());
  for (const std::size_t declared : {299'999, 300'001, 0}) {
    const Outcome outcome = run_read(world, large_put(declared, 300'000), 1000);
    CHECK(outcome.status == ExecutionStatus::done);
    CHECK(outcome.form().status == 400);
  }
  CHECK(run_read(world, large_put(300'000, 300'000), 20).form().status == 400);
  CHECK(origin.requests.empty());
}

TEST_CASE("What cannot be read any more never looks whole to the origin") {
  Loop loop;
  ScriptedOrigin origin(loop.io,
                        {answer("never"), answer("never"), answer("never"), answer("never")});
  World world(origin.address());
  origin.awaits_bodies = true;
  const auto text = large_put(300'000, 300'000);
  text->lost_from = 200'000;
  const Outcome outcome = run_read(world, text, 1000);
  CHECK(outcome.form().status == 502);
  CHECK(world.service.counters().uncertain_writes == 1);
  CHECK(origin.requests.empty());
}

TEST_CASE("The result is the canonical form of the origin's answer, on one kept-alive connection") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("hello", "Date: now\r\nX-Thing: 1\r\n"), answer("again")});
  World world(origin.address());
  const Outcome first = world.run(kGet);
  CHECK(first.status == ExecutionStatus::done);
  CHECK(first.form().status == 200);
  CHECK(first.form().body == "hello");
  std::string names;
  const sketch::AnswerForm form = first.form();
  sketch::AnswerFields fields(form);
  std::string_view name, value;
  while (fields.next(name, value))
    names += std::string(name) + ";";
  CHECK(names == "x-thing;");
  CHECK(world.run(kGet).form().body == "again");
  CHECK(origin.accepted == 1);
  CHECK(origin.requests == std::vector<std::string>{kGet, kGet});
}

TEST_CASE("What is not one request never reaches the origin, and everybody says so alike") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("hello")});
  World world(origin.address(), 1);
  World other(origin.address(), 3);
  for (const std::string& operation :
       {std::string("nonsense"), std::string(), kGet + "x", kGet + kGet,
        std::string("GET /a HTTP/1.1\r\nhost: x\r\n"),
        std::string("POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc")}) {
    const Outcome outcome = world.run(operation);
    CHECK(outcome.status == ExecutionStatus::done);
    CHECK(outcome.form().status == 400);
    CHECK(outcome.result == other.run(operation).result);
  }
  CHECK(origin.accepted == 0);
}

TEST_CASE("Only the method decides what a read is") {
  Loop loop;
  World world({"127.0.0.1", 1});
  CHECK(world.service.is_read(as_bytes(kGet)));
  CHECK(world.service.is_read(as_bytes("HEAD / HTTP/1.1\r\n\r\n")));
  for (const std::string_view operation :
       {"POST / HTTP/1.1", "GETX / HTTP/1.1", " GET /", "", "get /"}) {
    CHECK_FALSE(world.service.is_read(as_bytes(operation)));
  }
}

TEST_CASE("A read that the origin cannot answer is unavailable") {
  Loop loop;
  const std::vector<Step> failures = {kHangUp,
                                      kSilence,
                                      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true},
                                      {"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nab", false},
                                      {"nonsense\r\n\r\n", false},
                                      answer("x", "Connection: Set-Cookie\r\n")};
  const Step& failure = failures[GENERATE(0u, 1u, 2u, 3u, 4u, 5u)];
  ScriptedOrigin origin(loop.io, {failure, answer("well again")});
  World world(origin.address());
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  CHECK(world.run(kGet).form().body == "well again");
  CHECK(world.service.counters().unavailable == 1);
}

TEST_CASE("A read on an origin that is down is unavailable, and the change is told once") {
  Loop loop;
  auto origin = std::make_unique<ScriptedOrigin>(loop.io, std::deque<Step>{answer("hello")});
  const Endpoint address = origin->address();
  World world(address);
  std::vector<bool> states;
  world.service.on_origin_state([&](bool up) { states.push_back(up); });
  origin->close_all();
  origin.reset();
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  origin = std::make_unique<ScriptedOrigin>(loop.io, std::deque<Step>{answer("hello")}, address);
  CHECK(world.run(kGet).form().body == "hello");
  CHECK(states == std::vector<bool>{false, true});
}

TEST_CASE("A kept-alive connection that dies under a request is replaced once") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("one"), kHangUp, answer("two")});
  World world(origin.address());
  CHECK(world.run(kGet).form().body == "one");
  CHECK(world.run(kGet).form().body == "two");
  CHECK(origin.accepted == 2);
  CHECK(origin.requests.size() == 3);
}

TEST_CASE("An idle connection that the origin closes is noticed before it is used") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("one")});
  World world(origin.address());
  (void)world.run(kGet);
  origin.close_all();
  REQUIRE(run_until(loop.io, [&] { return world.service.origin().connections() == 0; }));
  (void)world.run(kGet);
  CHECK(world.service.counters().repeated == 0);
}

TEST_CASE("A write that could not be sent waits until the origin is back") {
  Loop loop;
  WaitingWrite write(loop, kPost);
  const ScriptedOrigin& origin = write.absence.come_back({answer("written")});
  write.wait_for_end();
  CHECK(write.outcome.form().body == "written");
  CHECK(origin.requests.size() == 1);
}

TEST_CASE("A write that may have been carried out is not sent again: the same 502 everywhere") {
  Loop loop;
  const std::vector<Step> failures = {kHangUp, kSilence, {"nonsense\r\n\r\n", false}};
  const Step& failure = failures[GENERATE(0u, 1u, 2u)];
  ScriptedOrigin origin(loop.io, {failure, failure, answer("never")});
  World world(origin.address(), 2);
  World other(origin.address(), 3);
  const Outcome mine = world.run(kPost);
  CHECK(mine.status == ExecutionStatus::done);
  CHECK(mine.form().status == 502);
  CHECK(mine.result == other.run(kPost).result);
  CHECK(origin.requests.size() == 2);
  CHECK(world.service.counters().uncertain_writes == 1);
}

TEST_CASE("Writes that are not idempotent do not travel on kept-alive connections") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("x")});
  World world(origin.address(), 0, 1);  // makes room where there is but one
  (void)world.run(kGet);
  (void)world.run(kPost);
  (void)world.run(kPost);
  CHECK(origin.accepted == 3);
  CHECK(world.service.origin().connections() == 1);
}

TEST_CASE("An idempotent write is repeated, and the answer is no vote") {
  Loop loop;
  // On a new connection, and on a kept-alive one.
  const bool kept = GENERATE(false, true);
  std::deque<Step> script = {kHangUp, answer("done"), answer("next")};
  if (kept) script.push_front(answer("first"));
  ScriptedOrigin origin(loop.io, script);
  World world(origin.address());
  if (kept) CHECK(world.run(kPut).form().body == "first");
  CHECK(world.run(kPut).status == ExecutionStatus::unavailable);
  CHECK(origin.requests == std::vector<std::string>(kept ? 3 : 2, kPut));
  CHECK(world.service.counters().repeated == 1);
  CHECK(world.service.counters().unavailable == 1);
  CHECK(world.service.counters().uncertain_writes == 0);
  CHECK(world.run(kPut).form().body == "next");
}

TEST_CASE("An idempotent write of which nothing had been sent gets its vote") {
  Loop loop;
  WaitingWrite write(loop, kPut);
  write.absence.come_back({answer("written")});
  write.wait_for_end();
  CHECK(write.outcome.form().body == "written");
}

TEST_CASE("An idempotent write is repeated within bounds") {
  Loop loop;
  ScriptedOrigin poisoned(loop.io, {kHangUp});
  World other(poisoned.address());
  CHECK(other.run(kPut).form().status == 502);
  CHECK(poisoned.requests.size() == 4);
}

TEST_CASE("Many reads share a bounded number of connections") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {answer("x")});
  World world(origin.address(), 0, 3);
  std::vector<Outcome> outcomes(100);
  for (Outcome& outcome : outcomes)
    world.start(kGet, outcome);
  REQUIRE(run_until(loop.io, [&] {
    return std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.done; });
  }));
  CHECK(origin.accepted == 3);
  CHECK(origin.requests.size() == 100);
}

TEST_CASE("The answer to HEAD has no body, and a body may end with the connection") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {Step{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false},
                                  Step{"HTTP/1.0 200 OK\r\n\r\nuntil the end", true}});
  World world(origin.address());
  CHECK(world.run("HEAD /a HTTP/1.1\r\nhost: x\r\n\r\n").form().body.empty());
  CHECK(world.run(kGet).form().body == "until the end");
  // What might follow an answer to HEAD by mistake is nobody's answer.
  CHECK(origin.accepted == 2);
}

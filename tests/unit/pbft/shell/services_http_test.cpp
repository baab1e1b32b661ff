#include <algorithm>
#include <fstream>
#include <vector>

#include <catch2/catch.hpp>

#include "pbft/services/http_service.hpp"
#include "state_runs.hpp"
#include "support/scripted_origin.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;
using prophecy::test::answer;
using prophecy::test::ScriptedOrigin;
using prophecy::test::Step;

namespace {

const std::string kGet = "GET /a HTTP/1.1\r\nhost: x\r\n\r\n";
const std::string kPut = "PUT /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
const std::string kPost = "POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
const Step kHangUp{"", true};
const Step kSilence{"", false};

struct Outcome {
  bool done = false;
  ExecutionStatus status = ExecutionStatus::done;
  Bytes result;

  [[nodiscard]] sketch::AnswerForm form() const {
    const auto decoded = sketch::decode(result);
    REQUIRE(decoded.has_value());
    return *decoded;
  }
};

struct World {
  explicit World(const Endpoint& origin, NodeId replica = 2, std::size_t connections = 4)
      : service(io_of(*this), settings(origin, replica, connections), profile) {}
  // The state is a folder.
  World(const Endpoint& origin, const std::filesystem::path& folder)
      : service(io_of(*this), settings(origin, folder), profile) {}
  explicit World(const HttpServiceSettings& settings) : service(io_of(*this), settings, profile) {}
  ~World() { service.stop(); }

  static boost::asio::io_context& io_of(World& world) { return *world.io; }
  static HttpServiceSettings settings(const Endpoint& origin, NodeId replica,
                                      std::size_t connections) {
    HttpServiceSettings made;
    made.replica = replica;
    made.origin.address = origin;
    made.origin.connections_max = connections;
    made.times.connect = milliseconds(200);
    made.times.answer = milliseconds(200);
    made.origin.answer_limits.body_bytes_max = 1000;
    made.operation_bytes_max = 1 << 20;
    made.result_bytes_max = 1 << 20;
    return made;
  }

  static HttpServiceSettings settings(const Endpoint& origin, const std::filesystem::path& folder) {
    HttpServiceSettings made = settings(origin, 2, 4);
    made.state.kind = StateKind::directory;
    made.times.write_settle = milliseconds(500);
    made.state.folder.folder = folder;
    return made;
  }

  void start(const std::string& operation, Outcome& outcome) {
    Execution execution;
    execution.storage = std::make_shared<const Bytes>(to_bytes(operation));
    execution.operation = *execution.storage;
    service.execute(execution, [&outcome](ExecutionStatus status, Bytes result) {
      CHECK_FALSE(outcome.done);
      outcome = {true, status, std::move(result)};
    });
  }
  Outcome run(const std::string& operation) {
    Outcome outcome;
    start(operation, outcome);
    REQUIRE(run_until(*io, [&] { return outcome.done; }));
    return outcome;
  }

  static inline boost::asio::io_context* io = nullptr;
  sketch::Profile profile;
  HttpService service;
};

struct Loop {
  Loop() { World::io = &io; }
  boost::asio::io_context io{1};
};

// An origin that is down, until it comes back under the same address.
struct Absence {
  explicit Absence(Loop& loop) : io(loop.io) { address = ScriptedOrigin(io, {}).address(); }
  ScriptedOrigin& come_back(std::deque<Step> script) {
    origin = std::make_unique<ScriptedOrigin>(io, std::move(script), address);
    return *origin;
  }
  boost::asio::io_context& io;
  Endpoint address;
  std::unique_ptr<ScriptedOrigin> origin;
};

// A write that waits for its origin.
struct WaitingWrite {
  WaitingWrite(Loop& loop, const std::string& write) : absence(loop), world(absence.address) {
    world.start(write, outcome);
    REQUIRE(run_until(loop.io, [&] { return world.service.counters().repeated >= 2; }));
    CHECK_FALSE(outcome.done);
  }
  void wait_for_end() {
    REQUIRE(run_until(absence.io, [&] { return outcome.done; }));
  }
  Absence absence;
  World world;
  Outcome outcome;
};

}  // namespace

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

TEST_CASE("A write that waits for its origin ends when a restore is to come") {
  Loop loop;
  WaitingWrite write(loop, kPut);
  write.world.service.give_up();
  write.wait_for_end();
  CHECK(write.outcome.status == ExecutionStatus::unavailable);
  CHECK(write.world.service.counters().given_up == 1);
}

TEST_CASE(
    "A write that has been sent is answered in spite of a restore to come, but not repeated") {
  Loop loop;
  ScriptedOrigin origin(loop.io, {kSilence, answer("late")});
  World world(origin.address());
  Outcome outcome;
  world.start(kPut, outcome);
  REQUIRE(run_until(loop.io, [&] { return origin.requests.size() == 1; }));
  world.service.give_up();
  CHECK_FALSE(outcome.done);
  REQUIRE(run_until(loop.io, [&] { return outcome.done; }));
  CHECK(outcome.status == ExecutionStatus::unavailable);
  CHECK(origin.requests.size() == 1);
}

TEST_CASE("An origin that was away gets nothing to do before its state is restored") {
  Loop loop;
  Absence absence(loop);
  TemporaryFolder folder;
  World world(absence.address, folder.path());
  int returns = 0;
  world.service.on_return([&] { ++returns; });
  std::ofstream(folder.path() / "a") << "certain";
  MapPartStore parts;
  const Digest root = *take_snapshot(loop.io, world.service, parts);
  std::ofstream(folder.path() / "a") << "lost";

  Outcome write;
  world.start(kPut, write);
  REQUIRE(run_until(loop.io, [&] { return world.service.trust_in_origin() == OriginTrust::away; }));
  REQUIRE(run_until(loop.io, [&] { return write.done; }));
  CHECK(write.status == ExecutionStatus::lost);
  CHECK(world.run(kPut).status == ExecutionStatus::lost);
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  ScriptedOrigin& origin = absence.come_back({answer("is back"), answer("got")});
  REQUIRE(run_until(loop.io, [&] { return returns == 1; }));
  CHECK(world.service.trust_in_origin() == OriginTrust::returned);
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  run_for(loop.io, milliseconds(300));
  CHECK(origin.requests.size() == 1);  // the question whether it is there
  CHECK(origin.requests[0].rfind("OPTIONS * ", 0) == 0);

  REQUIRE(run_restore(loop.io, world.service, parts, root).has_value());
  CHECK(world.service.trust_in_origin() == OriginTrust::trusted);
  std::string content;
  std::ifstream(folder.path() / "a") >> content;
  CHECK(content == "certain");
  CHECK(world.run(kGet).form().body == "got");
  CHECK(returns == 1);
  CHECK(world.service.counters().restores == 1);
}

TEST_CASE("A restore that fails leaves an origin that was away untrusted") {
  Loop loop;
  Absence absence(loop);
  TemporaryFolder folder;
  World world(absence.address, folder.path());
  int returns = 0;
  world.service.on_return([&] { ++returns; });
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
  absence.come_back({answer("is back")});
  REQUIRE(run_until(loop.io, [&] { return returns == 1; }));
  CHECK_FALSE(
      run_restore(loop.io, world.service, MapPartStore(), sha256(as_bytes("x"))).has_value());
  CHECK(world.service.counters().restores_failed == 1);
  CHECK(world.run(kGet).status == ExecutionStatus::unavailable);
}

TEST_CASE("A write that may not have taken effect is uncertain where the state can be restored") {
  Loop loop;
  TemporaryFolder folder;
  ScriptedOrigin origin(loop.io, {kHangUp, answer("never")});
  World world(origin.address(), folder.path());
  std::string told;
  world.service.on_uncertain_write([&](const HttpService::UncertainWrite& write) {
    told = std::string(write.method) + " " + std::string(write.target);
  });
  const TimePoint begin = std::chrono::steady_clock::now();
  const Outcome write = world.run(GENERATE(kPost, kPut));
  CHECK(write.status == ExecutionStatus::uncertain);
  CHECK(write.form().status == 502);
  CHECK(world.service.counters().uncertain_writes == 1);
  CHECK(origin.requests.size() == 1);
  CHECK_FALSE(told.empty());
  // The origin has closed its connection: there is nothing to settle.
  CHECK(std::chrono::steady_clock::now() - begin < seconds(2));
}

TEST_CASE("A whole answer to a write that cannot be agreed on is the same 502 everywhere") {
  Loop loop;
  TemporaryFolder folder;
  const bool keeps_state = GENERATE(false, true);
  const std::string large(3'000'000, 'x');  // in several pieces; the limit is 1,000 bytes
  const std::vector<Step> unusable = {
      answer(large),
      {"HTTP/1.1 200 OK\r\nconnection: set-cookie\r\ncontent-length: 1\r\n\r\nx", false}};
  const Step& step = unusable[GENERATE(0u, 1u)];
  ScriptedOrigin origin(loop.io, {step, step, answer("next")});
  std::vector<std::unique_ptr<World>> worlds;
  for (NodeId replica = 2; replica < 4; ++replica) {
    worlds.push_back(keeps_state ? std::make_unique<World>(origin.address(), folder.path())
                                 : std::make_unique<World>(origin.address(), replica));
  }
  const Outcome one = worlds[0]->run(GENERATE(kPost, kPut));
  const Outcome other = worlds[1]->run(kPost);
  CHECK(one.status == ExecutionStatus::done);
  CHECK(one.form().status == 502);
  CHECK(one.result == other.result);
  CHECK(origin.requests.size() == 2);  // each once
  CHECK(worlds[0]->service.counters().uncertain_writes == 0);
  CHECK(worlds[0]->run(kPost).form().body == "next");
}

TEST_CASE("A write that timed out is never sent again, and settles before its end") {
  Loop loop;
  TemporaryFolder folder;
  const bool keeps_state = GENERATE(false, true);
  ScriptedOrigin origin(loop.io, {kSilence, answer("again")});
  World with_state(origin.address(), folder.path());
  World without(origin.address(), 2);
  const TimePoint begin = std::chrono::steady_clock::now();
  const Outcome outcome = (keeps_state ? with_state : without).run(kPut);
  CHECK(outcome.status == (keeps_state ? ExecutionStatus::uncertain : ExecutionStatus::done));
  CHECK(outcome.form().status == 502);
  CHECK(origin.requests.size() == 1);
  if (keeps_state) CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(500));
}

TEST_CASE("Writes to a full state are refused alike, but those that make room") {
  Loop loop;
  TemporaryFolder folder;
  ScriptedOrigin origin(loop.io, {answer("got"), answer("gone"), answer("written")});
  HttpServiceSettings settings = World::settings(origin.address(), folder.path());
  settings.state.folder.files_max = 2;
  settings.state.folder.files_beyond = 10;
  World world(settings);
  std::uint64_t fill = 0;
  world.service.on_fill([&](std::uint64_t percent) { fill = percent; });
  MapPartStore parts;
  for (const char* name : {"a", "b", "c"})
    std::ofstream(folder.path() / name) << name;
  REQUIRE(take_snapshot(loop.io, world.service, parts).has_value());
  CHECK(fill == 150);
  CHECK(world.run(kPut).form().status == 507);
  CHECK(world.run(kPost).form().status == 507);
  CHECK(origin.requests.empty());
  CHECK(world.run(kGet).form().body == "got");
  CHECK(world.run("DELETE /a HTTP/1.1\r\nhost: x\r\n\r\n").form().body == "gone");
  CHECK(world.service.counters().refused_full == 2);
  for (const char* name : {"a", "b"})
    std::filesystem::remove(folder.path() / name);
  REQUIRE(take_snapshot(loop.io, world.service, parts).has_value());
  CHECK(world.run(kPut).form().body == "written");
}

TEST_CASE("A restore that is to come waits until a write that timed out has settled") {
  Loop loop;
  TemporaryFolder folder;
  ScriptedOrigin origin(loop.io, {kSilence, answer("again")});
  World world(origin.address(), folder.path());
  Outcome outcome;
  const TimePoint begin = std::chrono::steady_clock::now();
  world.start(kPut, outcome);
  REQUIRE(run_until(loop.io, [&] { return world.service.counters().origin_timeouts == 1; }));
  world.service.give_up();
  CHECK_FALSE(outcome.done);
  REQUIRE(run_until(loop.io, [&] { return outcome.done; }));
  CHECK(outcome.status == ExecutionStatus::unavailable);
  CHECK(std::chrono::steady_clock::now() - begin >= milliseconds(500));
}

TEST_CASE("An origin without a state of the group's is trusted whatever happens to it") {
  Loop loop;
  Absence absence(loop);
  World world(absence.address);
  world.service.on_return([] { FAIL("not to be called"); });
  Outcome write;
  world.start(kPut, write);
  run_for(loop.io, milliseconds(50));
  absence.come_back({answer("written")});
  REQUIRE(run_until(loop.io, [&] { return write.done; }));
  CHECK(write.form().body == "written");
}

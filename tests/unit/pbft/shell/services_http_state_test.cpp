// HttpService where the origin has a state that can be restored.
#include <thread>

#include "http_world.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using namespace prophecy::pbft::test;

namespace {

// The body of a write that is sent slowly.
class SlowBody final : public ByteSource {
 public:
  static constexpr std::uint64_t kBodyBytes = 9 << 20;
  static constexpr Duration kTime = milliseconds(1200);

  SlowBody()
      : head_("PUT /a HTTP/1.1\r\nhost: x\r\nContent-Length: " + std::to_string(kBodyBytes) +
              "\r\n\r\n") {}
  [[nodiscard]] std::uint64_t size() const override { return head_.size() + kBodyBytes; }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override {
    const std::uint64_t end = offset + into.size();
    std::this_thread::sleep_for(kTime * (std::max(end, farthest_) - farthest_) / kBodyBytes);
    farthest_ = std::max(end, farthest_);
    std::fill(into.begin(), into.end(), 'b');
    read_at_ = std::chrono::steady_clock::now();
    is_read_ = is_read_ || end == size();
    return true;
  }
  // To its end.
  [[nodiscard]] bool is_read() const { return is_read_; }
  [[nodiscard]] Duration since_last_read() const {
    return std::chrono::steady_clock::now() - read_at_;
  }
  [[nodiscard]] const std::string& head() const { return head_; }

 private:
  std::string head_;
  mutable std::uint64_t farthest_ = 0;
  mutable TimePoint read_at_{};
  mutable bool is_read_ = false;
};

void start_slow(World& world, const std::shared_ptr<SlowBody>& body, Outcome& outcome) {
  Execution execution;
  execution.sigma = 1;
  execution.storage = std::make_shared<const Bytes>(to_bytes(body->head()));
  execution.operation = *execution.storage;
  execution.whole = body;
  world.service.execute(execution, [&outcome](ExecutionStatus status, Bytes result) {
    outcome = {true, status, std::move(result)};
  });
}

}  // namespace

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

TEST_CASE("The time for settling begins when the last byte of a write has been sent") {
  Loop loop;
  TemporaryFolder folder;
  ScriptedOrigin origin(loop.io, {kSilence});
  origin.awaits_bodies = true;
  HttpServiceSettings settings = World::settings(origin.address(), folder.path());
  settings.operation_bytes_max = 2 * SlowBody::kBodyBytes;
  settings.times.answer = seconds(2);
  settings.times.write_settle = milliseconds(2500);
  World world(settings);
  const auto body = std::make_shared<SlowBody>();
  Outcome outcome;
  start_slow(world, body, outcome);
  REQUIRE(run_until(loop.io, [&] { return outcome.done; }));
  CHECK(outcome.status == ExecutionStatus::uncertain);
  CHECK(body->since_last_read() >= settings.times.write_settle);
}

TEST_CASE("A killed process's long write is waited for from its last byte on") {
  TemporaryFolder folder;
  TemporaryFolder storage;
  const auto body = std::make_shared<SlowBody>();
  const auto settings_for = [&](ScriptedOrigin& origin) {
    HttpServiceSettings settings = World::settings(origin.address(), folder.path());
    settings.in_flight = storage.path() / "write-in-flight";
    settings.operation_bytes_max = 2 * SlowBody::kBodyBytes;
    settings.times.answer = seconds(10);
    settings.times.write_settle = seconds(1);
    return settings;
  };
  {
    Loop loop;
    ScriptedOrigin origin(loop.io, {kSilence});
    origin.awaits_bodies = true;
    World first(settings_for(origin));
    Outcome outcome;
    start_slow(first, body, outcome);
    REQUIRE(run_until(loop.io, [&] { return body->is_read(); }));
    CHECK_FALSE(outcome.done);
  }
  Loop loop;
  ScriptedOrigin origin(loop.io, {});
  World next(settings_for(origin));
  MapPartStore parts;
  REQUIRE(take_snapshot(loop.io, next.service, parts).has_value());
  CHECK(body->since_last_read() >= seconds(1));
}

TEST_CASE("Writes to a full state are refused alike, but not what makes room or changes nothing") {
  Loop loop;
  TemporaryFolder folder;
  ScriptedOrigin origin(loop.io, {answer("got"), answer("allowed"), answer("listed"),
                                  answer("gone"), answer("written")});
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
  // Nor does it depend on this replica's disk what is carried out.
  std::filesystem::remove(folder.path() / "c");
  parts.full = true;
  CHECK_FALSE(take_snapshot(loop.io, world.service, parts).has_value());
  CHECK(fill == 100);
  parts.full = false;
  CHECK(world.run(kPost).form().status == 507);
  CHECK(origin.requests.empty());
  CHECK(world.run(kGet).form().body == "got");
  // They are ordered like writes, and change nothing.
  CHECK(world.run("OPTIONS /a HTTP/1.1\r\nhost: x\r\n\r\n").form().body == "allowed");
  CHECK(world.run("PROPFIND /a HTTP/1.1\r\nhost: x\r\n\r\n").form().body == "listed");
  CHECK(world.run("DELETE /a HTTP/1.1\r\nhost: x\r\n\r\n").form().body == "gone");
  CHECK(world.service.counters().refused_full == 2);
  for (const char* name : {"a", "b"})
    std::filesystem::remove(folder.path() / name);
  REQUIRE(take_snapshot(loop.io, world.service, parts).has_value());
  CHECK(world.run(kPut).form().body == "written");
}

TEST_CASE("The next process waits for a write that a killed one has left with the origin") {
  TemporaryFolder folder;
  TemporaryFolder storage;
  MapPartStore parts;
  // Each process has a loop of its own, which does not run any more when it has ended.
  const auto settings_for = [&](ScriptedOrigin& origin) {
    HttpServiceSettings settings = World::settings(origin.address(), folder.path());
    settings.in_flight = storage.path() / "write-in-flight";
    settings.times.answer = seconds(10);
    settings.times.write_settle = seconds(3);
    return settings;
  };
  const auto restores_at_once = [&] {
    Loop loop;
    ScriptedOrigin origin(loop.io, {});
    World next(settings_for(origin));
    const TimePoint begin = std::chrono::steady_clock::now();
    const auto root = take_snapshot(loop.io, next.service, parts);
    REQUIRE(root.has_value());
    REQUIRE(run_restore(loop.io, next.service, parts, *root).has_value());
    return std::chrono::steady_clock::now() - begin < milliseconds(1500);
  };
  {
    Loop loop;
    ScriptedOrigin origin(loop.io, {answer("written")});
    World first(settings_for(origin));
    CHECK(first.run(kPut).form().body == "written");
  }
  CHECK(restores_at_once());
  {
    Loop loop;
    ScriptedOrigin origin(loop.io, {kSilence});
    World first(settings_for(origin));
    Outcome outcome;
    first.start(kPut, outcome);
    REQUIRE(run_until(loop.io, [&] { return origin.requests.size() == 1; }));
    CHECK_FALSE(outcome.done);
  }
  CHECK_FALSE(restores_at_once());
  CHECK(restores_at_once());  // it has settled
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

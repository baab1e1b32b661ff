#include <map>

#include <catch2/catch.hpp>

#include "pbft/services/executor.hpp"
#include "pbft/services/null_service.hpp"
#include "pbft/services/simulated_service.hpp"

using namespace prophecy;
using namespace prophecy::pbft;

namespace {

// Answers when the test says so. Operations that begin with 'r' are reads.
class ManualService final : public Service {
 public:
  [[nodiscard]] bool is_read(ByteView operation) const override { return operation[0] == 'r'; }
  void execute(const Execution& execution, Done done) override {
    running.emplace(execution.id, std::move(done));
  }
  void finish(std::uint64_t id) {
    const Done done = std::move(running.at(id));
    running.erase(id);
    done(ExecutionStatus::done, Bytes{static_cast<std::uint8_t>(id)});
  }
  std::map<std::uint64_t, Done> running;
};

Execution execution(std::uint64_t id, char kind, bool unordered = false) {
  Execution made;
  made.id = id;
  made.read_only = unordered;
  made.storage = std::make_shared<const Bytes>(1, static_cast<std::uint8_t>(kind));
  made.operation = *made.storage;
  return made;
}

struct World {
  explicit World(ExecutorSettings settings = {})
      : executor(service, settings, [this] { ++calls; }) {}
  std::vector<std::uint64_t> running() {
    std::vector<std::uint64_t> ids;
    for (const auto& [id, done] : service.running)
      ids.push_back(id);
    return ids;
  }
  std::vector<Executor::Finished> taken() {
    std::vector<Executor::Finished> out;
    executor.take(out);
    return out;
  }
  ManualService service;
  int calls = 0;
  Executor executor;
};

using Ids = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("Reads between two writes run together, a write runs alone") {
  World world;
  std::uint64_t id = 0;
  for (const char kind : std::string("rrwrrww"))
    world.executor.submit(execution(++id, kind));
  CHECK(world.running() == Ids{1, 2});
  world.service.finish(2);
  CHECK(world.running() == Ids{1});
  world.service.finish(1);
  CHECK(world.running() == Ids{3});
  world.service.finish(3);
  CHECK(world.running() == Ids{4, 5});
  world.service.finish(5);
  world.service.finish(4);
  CHECK(world.running() == Ids{6});
  world.service.finish(6);
  CHECK(world.running() == Ids{7});
  world.service.finish(7);
  CHECK(world.running().empty());
  CHECK(world.calls == 7);
  const auto finished = world.taken();
  REQUIRE(finished.size() == 7);
  CHECK(finished[0].id == 2);
  CHECK(finished[0].result == Bytes{2});
  CHECK(world.taken().empty());
}

TEST_CASE("No more ordered reads run together than is allowed") {
  World world({.reads_in_flight_max = 2, .unordered_reads_max = 1});
  for (std::uint64_t id = 1; id <= 4; ++id)
    world.executor.submit(execution(id, 'r'));
  CHECK(world.running() == Ids{1, 2});
  world.service.finish(1);
  CHECK(world.running() == Ids{2, 3});
}

TEST_CASE("Reads outside the order wait for nothing, are bounded, and are no writes") {
  World world({.reads_in_flight_max = 1, .unordered_reads_max = 1});
  world.executor.submit(execution(1, 'w'));
  world.executor.submit(execution(2, 'r', true));
  CHECK(world.running() == Ids{1, 2});
  world.executor.submit(execution(3, 'r', true));  // one too many
  world.executor.submit(execution(4, 'w', true));  // slips past the agreement
  CHECK(world.running() == Ids{1, 2});
  const auto finished = world.taken();
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].status == ExecutionStatus::unavailable);
  CHECK(finished[1].status == ExecutionStatus::unavailable);
  CHECK(world.executor.counters().refused_overload == 1);
  CHECK(world.executor.counters().refused_unordered_write == 1);
  CHECK(world.calls == 0);
  // A write does not wait for reads that are outside the order.
  world.service.finish(1);
  world.executor.submit(execution(5, 'w'));
  CHECK(world.running() == Ids{2, 5});
}

TEST_CASE("A service that answers at once is taken from, not called back") {
  NullService service;
  int calls = 0;
  Executor executor(service, {}, [&] { ++calls; });
  std::uint64_t id = 0;
  for (const char kind : std::string("rwwr"))
    executor.submit(execution(++id, kind));
  std::vector<Executor::Finished> out;
  executor.take(out);
  REQUIRE(out.size() == 4);
  for (std::size_t i = 0; i < out.size(); ++i)
    CHECK(out[i].id == i + 1);
  CHECK(calls == 0);
  CHECK(service.counters().executed == 4);
}

TEST_CASE("Simulated work takes its time and answers with its size") {
  SimulatedService service(microseconds(3000), 100);
  const TimePoint begin = std::chrono::steady_clock::now();
  Bytes result;
  service.execute(execution(1, 'w'),
                  [&](ExecutionStatus, Bytes bytes) { result = std::move(bytes); });
  CHECK(std::chrono::steady_clock::now() - begin >= microseconds(3000));
  CHECK(result == Bytes(100, 'x'));
}

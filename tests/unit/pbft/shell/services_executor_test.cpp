#include <map>

#include <catch2/catch.hpp>

#include "map_part_store.hpp"
#include "pbft/services/executor.hpp"
#include "pbft/services/null_service.hpp"
#include "pbft/services/simulated_service.hpp"

using namespace prophecy;
using namespace prophecy::pbft;
using prophecy::pbft::test::MapPartStore;

namespace {

// Answers when the test says so. Operations that begin with 'r' are reads.
class ManualService final : public Service {
 public:
  [[nodiscard]] bool is_read(ByteView operation) const override { return operation[0] == 'r'; }
  void execute(const Execution& execution, Done done) override {
    running.emplace(execution.id, std::move(done));
  }
  void finish(std::uint64_t id, ExecutionStatus status = ExecutionStatus::done) {
    const Done done = std::move(running.at(id));
    running.erase(id);
    done(status, Bytes{static_cast<std::uint8_t>(id)});
  }
  void snapshot(PartStore& /*parts*/, SnapshotDone done) override {
    REQUIRE(running.empty() == !beside_snapshot);
    snapshot_done = std::move(done);
  }
  void restore(const PartStore& /*parts*/, const Digest& /*root*/, RestoreDone done) override {
    REQUIRE(running.empty());
    restore_done = std::move(done);
  }
  void give_up() override { ++times_given_up; }
  [[nodiscard]] bool may_undo() const override { return undoes; }
  void finish_snapshot(Result<Digest> root) {
    REQUIRE(snapshot_done);
    std::exchange(snapshot_done, {})(std::move(root));
  }
  void finish_restore(Result<> restored) {
    REQUIRE(restore_done);
    std::exchange(restore_done, {})(std::move(restored));
  }
  std::map<std::uint64_t, Done> running;
  SnapshotDone snapshot_done;
  RestoreDone restore_done;
  bool beside_snapshot = false;  // a read outside the order is
  bool undoes = false;
  int times_given_up = 0;
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
  std::vector<Executor::FinishedState> taken_states() {
    std::vector<Executor::FinishedState> out;
    executor.take_states(out);
    return out;
  }
  ManualService service;
  MapPartStore parts;
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

TEST_CASE("A read outside the order that may have seen a write is answered when that is") {
  World world;
  world.service.undoes = GENERATE(true, false);
  const auto status = GENERATE(ExecutionStatus::done, ExecutionStatus::uncertain,
                               ExecutionStatus::lost, ExecutionStatus::unavailable);
  world.executor.submit(execution(1, 'r', true));
  world.executor.submit(execution(2, 'w'));
  world.executor.submit(execution(3, 'r', true));
  world.service.finish(3);
  world.service.finish(1);
  const auto before = world.taken();
  CHECK(before.size() == (world.service.undoes ? 0 : 2));
  world.service.finish(2, status);
  const auto after = world.taken();
  REQUIRE(before.size() + after.size() == 3);
  CHECK(after[0].id == 2);
  CHECK(after[0].status == status);
  if (!world.service.undoes) return;
  CHECK(after[1].id == 3);
  CHECK(after[2].id == 1);
  const bool is_right = status == ExecutionStatus::done;
  for (const std::size_t read : {1u, 2u}) {
    CHECK((after[read].status == ExecutionStatus::done) == is_right);
    CHECK(after[read].result.empty() != is_right);
  }
  // One that ends when no write runs waits for nothing.
  world.executor.submit(execution(4, 'r', true));
  world.service.finish(4);
  CHECK(world.taken().size() == 1);
}

TEST_CASE("Reads that wait for a write are bounded") {
  World world({.reads_in_flight_max = 1, .unordered_reads_max = 2});
  world.service.undoes = true;
  world.executor.submit(execution(1, 'w'));
  for (const std::uint64_t id : {2, 3}) {
    world.executor.submit(execution(id, 'r', true));
    world.service.finish(id);
  }
  world.executor.submit(execution(4, 'r', true));
  const auto refused = world.taken();
  REQUIRE(refused.size() == 1);
  CHECK(refused[0].id == 4);
  CHECK(refused[0].status == ExecutionStatus::unavailable);
  world.service.finish(1);
  CHECK(world.taken().size() == 3);
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

namespace {

const Digest kRoot = sha256(as_bytes("root"));
const Error kBroken{ErrorKind::io, "broken"};

const Result<Digest>& snapshot_of(const Executor::FinishedState& finished) {
  return std::get<Executor::FinishedSnapshot>(finished).root;
}
const Result<>& restore_of(const Executor::FinishedState& finished) {
  return std::get<Executor::FinishedRestore>(finished).restored;
}

}  // namespace

TEST_CASE("A snapshot waits for all before it, and all behind it waits") {
  World world;
  world.executor.submit(execution(1, 'r'));
  world.executor.submit(execution(2, 'r'));
  world.executor.submit_snapshot(7, world.parts);
  world.executor.submit(execution(3, 'r'));
  world.executor.submit(execution(4, 'w'));
  world.service.finish(1);
  CHECK_FALSE(world.service.snapshot_done);
  world.service.finish(2);
  CHECK(world.service.snapshot_done);
  CHECK(world.running().empty());
  // One outside the order runs all the same.
  world.executor.submit(execution(5, 'r', true));
  CHECK(world.running() == Ids{5});
  world.service.finish_snapshot(kRoot);
  CHECK(world.running() == Ids{3, 5});
  const auto states = world.taken_states();
  REQUIRE(states.size() == 1);
  CHECK(std::get<Executor::FinishedSnapshot>(states[0]).id == 7);
  CHECK(*snapshot_of(states[0]) == kRoot);
  CHECK(world.taken_states().empty());
  world.service.finish(3);
  CHECK(world.running() == Ids{4, 5});
}

TEST_CASE("Behind an uncertain write nothing begins but a snapshot, until the service goes on") {
  World world;
  for (std::uint64_t id = 1; id <= 3; ++id)
    world.executor.submit(execution(id, 'w'));
  world.service.finish(1, ExecutionStatus::uncertain);
  REQUIRE(world.taken().at(0).status == ExecutionStatus::uncertain);
  CHECK(world.running().empty());
  world.executor.submit_snapshot(1, world.parts);
  world.service.finish_snapshot(Digest{1});
  CHECK(world.taken_states().size() == 1);
  CHECK(world.running().empty());
  SECTION("it goes on") {
    world.executor.resume(true);
    CHECK(world.running() == Ids{2});
  }
  SECTION("its state is replaced: what waits, and what still comes, is not carried out") {
    world.executor.resume(false);
    world.executor.submit(execution(4, 'w'));
    CHECK(world.running().empty());
    CHECK(world.taken().size() == 3);
    world.executor.submit_restore(2, world.parts, Digest{1});
    world.service.finish_restore({});
    world.executor.submit(execution(5, 'w'));
    CHECK(world.running() == Ids{5});
  }
}

TEST_CASE("A snapshot that fails is reported, and executions go on") {
  World world;
  world.service.beside_snapshot = true;
  world.executor.submit(execution(1, 'r', true));
  world.executor.submit_snapshot(7, world.parts);
  world.executor.submit(execution(2, 'w'));
  world.service.finish_snapshot(kBroken);
  CHECK(world.running() == Ids{1, 2});
  CHECK(snapshot_of(world.taken_states().at(0)).error().message == "broken");
}

TEST_CASE("A restore makes void what waits, waits for what runs, and lets nothing run beside it") {
  World world;
  world.executor.submit(execution(1, 'w'));
  world.executor.submit(execution(2, 'w'));
  world.executor.submit_snapshot(7, world.parts);
  world.executor.submit(execution(3, 'r', true));
  world.executor.submit_restore(8, world.parts, kRoot);
  world.executor.submit(execution(4, 'w'));
  CHECK(world.service.times_given_up == 1);
  CHECK(world.running() == Ids{1, 3});
  auto finished = world.taken();
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].id == 2);
  CHECK(finished[0].status == ExecutionStatus::unavailable);
  auto states = world.taken_states();
  REQUIRE(states.size() == 1);
  CHECK_FALSE(snapshot_of(states[0]).has_value());

  world.service.finish(1);
  CHECK_FALSE(world.service.restore_done);
  world.service.finish(3);
  REQUIRE(world.service.restore_done);
  CHECK(world.taken().size() == 2);
  world.executor.submit(execution(5, 'r', true));  // refused at once
  finished = world.taken();
  REQUIRE(finished.size() == 1);
  CHECK(finished[0].status == ExecutionStatus::unavailable);
  CHECK(world.running().empty());

  world.service.finish_restore({});
  CHECK(world.running() == Ids{4});
  states = world.taken_states();
  REQUIRE(states.size() == 1);
  CHECK(std::get<Executor::FinishedRestore>(states[0]).id == 8);
  CHECK(restore_of(states[0]).has_value());
  world.executor.submit(execution(6, 'r', true));
  CHECK(world.running() == Ids{4, 6});
  CHECK(world.executor.counters().refused_without_state == 2);
}

TEST_CASE("After a restore that failed nothing is executed until another one has succeeded") {
  World world;
  world.executor.submit_restore(1, world.parts, kRoot);
  CHECK(world.service.times_given_up == 0);  // nothing ran
  world.executor.submit(execution(1, 'w'));
  world.executor.submit_snapshot(2, world.parts);
  world.service.finish_restore(kBroken);
  world.executor.submit(execution(2, 'r'));
  world.executor.submit(execution(3, 'r', true));
  CHECK(world.running().empty());
  auto states = world.taken_states();
  REQUIRE(states.size() == 2);
  CHECK(restore_of(states[0]).error().message == "broken");
  CHECK_FALSE(snapshot_of(states[1]).has_value());
  const auto finished = world.taken();
  REQUIRE(finished.size() == 3);
  for (const auto& one : finished)
    CHECK(one.status == ExecutionStatus::unavailable);

  world.executor.submit_restore(3, world.parts, kRoot);
  world.service.finish_restore({});
  world.executor.submit(execution(4, 'w'));
  CHECK(world.running() == Ids{4});
}

TEST_CASE("A restore that is overtaken by another leaves no state until that one is done") {
  World world;
  world.executor.submit_restore(1, world.parts, kRoot);
  world.executor.submit_restore(2, world.parts, kRoot);
  world.executor.submit_restore(3, world.parts, kRoot);  // takes the place of 2
  world.service.finish_restore({});
  world.executor.submit(execution(1, 'r', true));
  CHECK(world.running().empty());
  world.service.finish_restore({});
  world.executor.submit(execution(2, 'r', true));
  CHECK(world.running() == Ids{2});
  std::vector<std::uint64_t> ids;
  for (const auto& state : world.taken_states())
    ids.push_back(std::get<Executor::FinishedRestore>(state).id);
  CHECK(ids == Ids{2, 1, 3});
}

TEST_CASE("A service without state has one root everywhere, and takes back no other") {
  MapPartStore parts;
  NullService null;
  SimulatedService simulated(microseconds(0), 1);
  Digest root{};
  for (Service* service : {static_cast<Service*>(&null), static_cast<Service*>(&simulated)}) {
    service->snapshot(parts, [&](Result<Digest> made) { root = *made; });
    CHECK(parts.reaches_all(root));
    bool restored = false;
    service->restore(parts, root, [&](Result<> done) { restored = done.has_value(); });
    CHECK(restored);
    service->restore(parts, kRoot, [&](Result<> done) { restored = done.has_value(); });
    CHECK_FALSE(restored);
  }
  CHECK(parts.parts.size() == 1);
  MapPartStore full;
  full.full = true;
  null.snapshot(full, [&](Result<Digest> made) { CHECK_FALSE(made.has_value()); });
}

TEST_CASE("A write that carries a refusal is answered with it in its turn; a read is executed") {
  World world;
  const Bytes refusal{1, 2, 3};
  world.executor.submit(execution(1, 'w'));
  for (const std::uint64_t id : {2, 3}) {
    Execution refused = execution(id, id == 2 ? 'w' : 'r');
    refused.refusal = refusal;
    world.executor.submit(std::move(refused));
  }
  world.executor.submit(execution(4, 'w'));
  CHECK(world.running() == Ids{1});
  CHECK(world.taken().empty());
  world.service.finish(1);
  CHECK(world.running() == Ids{3});
  auto finished = world.taken();
  REQUIRE(finished.size() == 2);
  CHECK(finished[0].id == 1);
  CHECK(finished[1].id == 2);
  CHECK(finished[1].status == ExecutionStatus::done);
  CHECK(finished[1].result == refusal);
  world.service.finish(3);
  CHECK(world.running() == Ids{4});
  CHECK(world.executor.counters().refused_by_epoch == 1);
}

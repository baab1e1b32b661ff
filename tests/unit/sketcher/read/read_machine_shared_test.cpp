// Reads that ask the group through shared calls: joining, asking again, budgets and marks.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

// A client may ask 20 times at once.
struct BudgetWorld : ReadWorld {
  void use_up(int times = 20) {
    for (int i = 0; i < times; ++i)
      REQUIRE(budget.take(kClient, now));
  }
  void start(Reader& reader) {
    reader.request.budget = &budget;
    reader.start();
  }
  SlowPathBudget budget{{.share = 1, .per_client_second = 2}, 64, 0};
};

const Lines kRefused{"deadline", "no deadline", "refuse 503 slow-path-budget"};

}  // namespace

TEST_CASE("shared: a read of what the history does not hold asks the group") {
  ReadWorld world;
  Reader reader(world);
  reader.start();
  CHECK(reader.took() == Lines{"deadline"});
  CHECK(reader.machine.state() == State::shared);
  world.answer(1, "A", 10);
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 A, verified"});
  CHECK(reader.machine.answer_sketch() == world.sketch("A"));
  CHECK(world.table.lookup(reader.key())->answer == world.sketch("A"));
  reader.start();
  CHECK(reader.took() == Lines{"deadline", "ask 0"});
}

TEST_CASE("shared: equal reads join one call, and one may leave it") {
  ReadWorld world;
  Reader first(world), second(world), third(world);
  first.start();
  second.start();
  third.start();
  CHECK(world.calls.size() == 1);
  CHECK(world.counters.coalesced.get() == 2);
  second.leave();
  CHECK(world.calls.size() == 1);
  world.answer(1, "A", 10);
  CHECK(first.took().back() == "deliver 200 A, verified");
  CHECK(second.took() == Lines{"deadline", "no deadline"});
  CHECK(third.took().back() == "deliver 200 A, verified");
}

TEST_CASE("shared: who joined is told of an answer that is outdated, and asks again, once") {
  BudgetWorld world;
  Reader first(world), late(world);
  world.start(first);
  world.start(late);
  world.use_up(19);
  world.floors.raise(world.floors.slot_of("a", "/"), 10);
  world.answer(1, "A", 9);
  CHECK(first.took().back() == "deliver 200 A, verified");
  // At no charge, and without an end to its time in between.
  CHECK(late.took() == Lines{"deadline"});
  CHECK(late.machine.state() == State::shared);
  REQUIRE(world.calls.size() == 1);
  world.floors.raise(world.floors.slot_of("a", "/"), 20);
  world.answer(2, "B", 12);
  CHECK(late.took() == Lines{"no deadline", "deliver 200 B, verified"});
  CHECK(world.counters.coalesced.get() == 1);
}

TEST_CASE(
    "shared: an answer for one request alone leaves the others to ask alone, and be charged") {
  BudgetWorld world;
  Reader first(world), late(world), other(world);
  world.start(first);
  world.start(late);
  const bool is_used_up = GENERATE(false, true);
  if (is_used_up) world.use_up(19);
  world.answer(1, std::string(shared_reads_test::kCookie), 10);
  CHECK(first.took().back() == "deliver 200 cookie, verified");
  CHECK_FALSE(first.machine.answer_sketch().has_value());
  if (is_used_up) {
    CHECK(late.took() == kRefused);
    CHECK(world.counters.over_budget.get() == 1);
    return;
  }
  CHECK(late.machine.state() == State::shared);
  world.start(other);  // joins none that is alone
  CHECK(world.calls.size() == 2);
  world.answer(2, std::string(shared_reads_test::kCookie), 11);
  CHECK(late.took() == Lines{"deadline", "no deadline", "deliver 200 cookie, verified"});
}

TEST_CASE("shared: a client may ask the group as often as its budget says") {
  BudgetWorld world;
  Reader reader(world), other(world);
  world.use_up(19);
  world.start(reader);
  CHECK(world.calls.size() == 1);
  SECTION("and no more") {
    reader.leave();
    world.start(other);
    CHECK(other.took() == kRefused);
    CHECK(world.calls.empty());
    CHECK(world.counters.failed.get() == 1);
    CHECK(world.counters.over_budget.get() == 1);
  }
  SECTION("but joins a call that is under way") {
    world.start(other);
    CHECK(other.machine.state() == State::shared);
    CHECK(world.counters.over_budget.get() == 0);
  }
  SECTION("not with a mark that forbids to share") {
    other.request.listed = Mark::blacklisted;
    world.start(other);
    CHECK(other.took() == kRefused);
  }
}

TEST_CASE("shared: what a write has made out of date takes nothing of a budget") {
  BudgetWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  world.use_up();
  SECTION("by a write") {
    world.floors.raise(world.floors.slot_of("a", "/"), 1);
    world.start(reader);
    CHECK(world.calls.size() == 1);
    CHECK(world.counters.out_of_date.get() == 1);
    world.answer(1, "A", 10);
    CHECK(reader.took().back() == "deliver 200 A, verified");
  }
  SECTION("an answer for somebody else makes up for the write: asking alone is charged") {
    world.floors.raise(world.floors.slot_of("a", "/"), 1);
    Reader late(world);
    world.start(reader);
    world.start(late);
    world.answer(1, std::string(shared_reads_test::kCookie), 10);
    CHECK(late.took() == kRefused);
  }
  SECTION("not written: one that the origin fails") {
    world.start(reader);
    reader.fail(ExchangeEnd::timed_out);
    CHECK(reader.took() ==
          Lines{"deadline", "ask 0", "no deadline", "refuse 503 slow-path-budget"});
  }
}

TEST_CASE("shared: a route's share of reads that may ask the group") {
  ReadWorld world;
  SlowPathBudget budget({.share = 0.5, .per_second = 0, .per_client_second = 0}, 64, 0);
  for (int i = 0; i < 100; ++i)
    REQUIRE(budget.take(kClient, world.now));
  Reader reader(world), other(world);
  reader.request.budget = other.request.budget = &budget;
  reader.start();
  CHECK(reader.took() == kRefused);  // half of one
  other.start();
  CHECK(other.took() == Lines{"deadline"});  // each read has paid its share
}

TEST_CASE("shared: reads on the blacklist ask the group, each alone") {
  ReadWorld world;
  Reader reader(world), other(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.request.listed = other.request.listed = Mark::blacklisted;
  reader.start();
  other.start();
  CHECK(reader.took() == Lines{"deadline"});
  CHECK(world.calls.size() == 2);
  CHECK(world.counters.blacklisted.get() == 2);
}

TEST_CASE("shared: an operator's mark decides as a list does") {
  ReadWorld world;
  Reader reader(world);
  REQUIRE(world.table.set_mark(reader.key(), Mark::blacklisted) == ChangeOutcome::done);
  reader.request.listed = GENERATE(Mark::none, Mark::whitelisted);  // the safer one decides
  reader.start();
  CHECK(reader.took() == Lines{"deadline"});
  CHECK(reader.machine.state() == State::shared);
  CHECK(world.counters.blacklisted.get() == 1);
}

TEST_CASE("shared: the time is over for one of those that wait") {
  ReadWorld world;
  Reader first(world), late(world);
  first.start();
  late.start();
  first.deadline();
  CHECK(first.took() == Lines{"deadline", "refuse 504 read-timeout"});
  REQUIRE(world.calls.size() == 1);
  world.answer(1, "A", 10);
  CHECK(late.took().back() == "deliver 200 A, verified");
}

TEST_CASE("shared: nothing joins a call that was begun before a write was answered") {
  ReadWorld world;
  Reader reader(world), writer(world), later(world);
  reader.start();
  writer.start("POST", "", "/other");
  writer.group_answer("done", 5);
  later.start();
  CHECK(world.calls.size() == 2);
}

TEST_CASE("shared: a read that most likely meets a transition asks the group at once") {
  ReadWorld world(VolatilityLimits::of_group(4));
  Reader reader(world);
  std::uint64_t call = 0;
  const auto change = [&] {
    ++call;
    world.answer(world.calls.begin()->first, std::to_string(call), call);
  };
  while (world.counters.avoided.get() == 0 && call < 200) {
    reader.start();
    if (reader.is_asked[0]) reader.answer("old");
    change();
    static_cast<void>(reader.took());
  }
  REQUIRE(world.counters.avoided.get() == 1);
  CHECK(call > 16);
  CHECK(world.counters.transitions.get() == call - 1);  // the first was not compared
  SlowPathBudget budget({.share = 1, .per_client_second = 2}, 64, 0);
  reader.request.budget = &budget;
  SECTION("within the budget") {
    reader.start();
    CHECK(reader.took() == Lines{"deadline"});
    CHECK(world.counters.avoided.get() == 2);
  }
  SECTION("beyond it an origin is still to be had") {
    while (budget.take(kClient, world.now)) {
    }
    reader.start();
    CHECK(reader.took() == Lines{"deadline", "ask 0"});
    CHECK(world.counters.avoided.get() == 1);
  }
  SECTION("not where nothing is remembered: there is nothing to avoid") {
    REQUIRE(world.table.erase(reader.key()) == ChangeOutcome::done);
    reader.start();
    CHECK(reader.took() == Lines{"deadline"});
    CHECK(world.counters.avoided.get() == 1);
  }
  SECTION("not where a mark decides") {
    REQUIRE(world.table.set_mark(reader.key(), Mark::whitelisted) == ChangeOutcome::done);
    reader.start();
    CHECK(reader.took() == Lines{"deadline", "ask 0"});
  }
}

}  // namespace prophecy::sketcher

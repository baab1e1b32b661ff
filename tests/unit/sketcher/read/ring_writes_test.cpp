// Writes of a sketcher that shares a site with others: a write is answered once the owner of each
// URI that it names has raised its floor (docs/ring.md, rules R5 and R7).
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using dht::Stage;
using State = ReadMachine::State;

namespace {

struct WritesWorld : RingWorld {
  [[nodiscard]] Sigma floor(std::string_view target) const {
    return floors.at(floors.slot_of("a", target));
  }
  [[nodiscard]] Partition partition(std::string_view target) const {
    return floors.place_of("a", target).partition;
  }
  [[nodiscard]] Bytes answer_with_location(std::string_view target) const {
    http::Response response = response_of("done", 201);
    response.fields.add("location", target);
    sketch::AnswerCanonicalizer canonicalizer(profile);
    sketch::AnswerForm form;
    REQUIRE(canonicalizer.canonicalize(response, false, form) == sketch::AnswerFault::none);
    return sketch::encode(form);
  }
};

constexpr std::uint16_t kDone = 204;

}  // namespace

TEST_CASE("ring: a write of an own partition raises its floor, and is answered") {
  WritesWorld world;
  Reader writer(world);
  writer.start("POST", "", "/page");
  // That others may answer by their histories is no harm: the permission for the group is enough.
  if (GENERATE(true, false)) world.pass(kLease);
  if (GENERATE(true, false)) {  // it has come back, and is ours now
    world.set_word(Stage::elsewhere);
    world.set_word(Stage::taken);
  }
  writer.group_answer("", 7, kDone);
  CHECK(writer.took() == Lines{"order", "deliver 204 "});
  CHECK(world.floor("/page") == 7);
}

TEST_CASE("ring: a write that the group refuses for its view goes to the owner of now") {
  WritesWorld world;
  world.permissions.set_view(5);
  Reader writer(world);
  writer.start("POST", "", "/page");
  CHECK(writer.machine.call_view() == 5);
  writer.group_failure(ReplicatedFailure::view_too_old);
  CHECK(writer.took() == Lines{"order", "move"});
  CHECK(world.floor("/page") == 0);
  CHECK(world.counters.failed.get() == 0);
  CHECK(world.counters.moved.get() == 1);
  const auto failure = static_cast<std::size_t>(ReplicatedFailure::view_too_old);
  CHECK(world.counters.replicated_failures[failure].get() == 1);

  // It is not asked for again in the view that was refused.
  writer.request.was_moved = true;
  writer.start("POST", "", "/page");
  CHECK(writer.took() == Lines{"move"});
  world.permissions.set_view(6);
  writer.start("POST", "", "/page");
  CHECK(writer.machine.call_view() == 6);
  writer.group_answer("", 7, kDone);
  CHECK(writer.took() == Lines{"order", "deliver 204 "});

  // Another request begins anew.
  writer.request.was_moved = false;
  writer.start("POST", "", "/page");
  writer.group_answer("", 8, kDone);
  CHECK(writer.took() == Lines{"order", "deliver 204 "});
}

TEST_CASE("ring: a view that is too new for the group ends a write, which was not carried out") {
  WritesWorld world;
  Reader reader(world), writer(world), later(world);
  reader.start();
  writer.start("POST", "", "/page");
  writer.group_failure(ReplicatedFailure::view_too_new);
  CHECK(writer.took() == Lines{"order", "refuse 503 view-too-new"});
  later.start();
  CHECK(world.calls.size() == 1);  // it shares the call
}

TEST_CASE("ring: the view is read before the claim") {
  // What was lost in between is not claimed under the view that has taken it.
  WritesWorld world;
  Reader writer(world);
  world.set_word(Stage::elsewhere, world.partition("/page"));
  world.permissions.set_view(6);
  writer.start("POST", "", "/page");
  CHECK(writer.took() == Lines{"move"});
}

TEST_CASE("ring: a write whose partition has moved keeps its answer until the owner has raised") {
  WritesWorld world;
  Reader writer(world);
  writer.start("POST", "", "/page");
  world.set_word(GENERATE(Stage::elsewhere, Stage::waiting, Stage::unknown));
  writer.group_answer("done", 7, 200);
  CHECK(writer.took() == Lines{"order", "deadline", "raise floors"});
  CHECK(writer.machine.state() == State::raising);
  CHECK(world.floor("/page") == 0);
  CHECK(world.counters.answered_replicated.get() == 0);
  REQUIRE(writer.machine.owed_floors().size() == 1);
  const OwedFloor& owed = writer.machine.owed_floors().front();
  CHECK(owed.group == &world.core);
  CHECK(owed.authority == "a");
  CHECK(owed.target == "/page");
  REQUIRE(owed.write.has_value());
  CHECK(owed.write->sigma == 7);
  SECTION("elsewhere") {
    writer.floor_raised(0);
    CHECK(writer.took() == Lines{"no floors", "no deadline", "deliver 200 done"});
    CHECK(world.floor("/page") == 0);
  }
  SECTION("here, since it has come back") {
    writer.floor_time();
    CHECK(writer.took() == Lines{"raise floors"});
    world.set_word(Stage::taken);
    writer.floor_time();
    CHECK(writer.took() == Lines{"no floors", "no deadline", "deliver 200 done"});
    CHECK(world.floor("/page") == 7);
  }
  SECTION("nowhere: whether the write was carried out is left open") {
    writer.deadline();
    CHECK(writer.took() == Lines{"no floors", "refuse 504 owner-unavailable"});
    CHECK(world.counters.failed.get() == 1);
  }
  SECTION("its client leaves") {
    writer.leave();
    CHECK(writer.took() == Lines{"no floors", "no deadline"});
    CHECK(world.counters.abandoned.get() == 1);
    CHECK(writer.machine.is_idle());
  }
}

TEST_CASE("ring: a write without a lease raises no floor of its own") {
  WritesWorld world;
  Reader writer(world);
  writer.start("POST", "", "/page");
  world.pass(2 * kLease);
  writer.group_answer("", 7, kDone);
  CHECK(writer.took() == Lines{"order", "deadline", "raise floors"});
  CHECK(world.floor("/page") == 0);
}

TEST_CASE("ring: a write that makes nothing out of date needs no owner") {
  WritesWorld world;
  Reader writer(world);
  const bool is_wanted = GENERATE(true, false);
  writer.request.has_invalidation = is_wanted;
  writer.start("POST", "", "/page");
  world.set_word(Stage::elsewhere);
  writer.group_answer("", 7, is_wanted ? 404 : 204);
  CHECK(writer.took() == Lines{"order", is_wanted ? "deliver 404 " : "deliver 204 "});
}

TEST_CASE("ring: each URI that the answer names has an owner of its own") {
  WritesWorld world;
  Reader writer(world);
  REQUIRE(world.partition("/pages") != world.partition("/pages/1"));
  const bool is_own_lost = GENERATE(true, false);
  writer.start("POST", "", "/pages");
  world.set_word(Stage::elsewhere, world.partition("/pages/1"));
  if (is_own_lost) world.set_word(Stage::elsewhere, world.partition("/pages"));
  writer.group_answer_in(world.answer_with_location("/pages/1"), 7);
  CHECK(writer.took() == Lines{"order", "deadline", "raise floors"});
  CHECK(world.floor("/pages") == (is_own_lost ? 0 : 7));
  CHECK(world.floor("/pages/1") == 0);
  REQUIRE(writer.machine.owed_floors().size() == (is_own_lost ? 2 : 1));
  CHECK(writer.machine.owed_floors().back().target == "/pages/1");
  if (is_own_lost) {
    writer.floor_raised(0);
    CHECK(writer.took().empty());
    writer.floor_raised(1);
  } else {
    writer.floor_raised(0);
  }
  CHECK(writer.took() == Lines{"no floors", "no deadline", "deliver 201 done"});
}

TEST_CASE("ring: a write of which it is not known waits for its floor, and fails") {
  WritesWorld world;
  Reader writer(world);
  writer.start("POST", "", "/page");
  world.set_word(Stage::elsewhere);
  writer.group_failure(ReplicatedFailure::uncertain_write);
  CHECK(writer.took() == Lines{"order", "deadline", "raise floors"});
  writer.floor_raised(0);
  const auto failure = ReplicatedFailure::uncertain_write;
  CHECK(writer.took() == Lines{"no floors", "no deadline",
                               fmt::format("refuse {} {}", replica_client::status_of(failure),
                                           replica_client::to_string(failure))});
}

TEST_CASE("ring: a machine serves the next request after one that waited for floors") {
  WritesWorld world;
  Reader writer(world);
  writer.start("POST", "", "/page");
  world.set_word(Stage::elsewhere);
  writer.group_answer("", 7, kDone);
  writer.floor_raised(0);
  (void)writer.took();
  world.set_word(Stage::taken);
  writer.start("POST", "", "/page");
  writer.group_answer("", 8, kDone);
  CHECK(writer.took() == Lines{"order", "deliver 204 "});
  CHECK(world.floor("/page") == 8);
}

TEST_CASE("ring: another member's write makes all that was agreed before it out of date") {
  WritesWorld world;
  Reader early(world), late(world), later(world);
  world.remember(early.key("", "/page"), world.sketch("A"), 3);
  world.set_word(Stage::taken);
  early.start("GET", "", "/page");
  early.fail(ExchangeEnd::broken);
  early.fail(ExchangeEnd::broken);  // the call is under way when the write ends
  REQUIRE(world.calls.size() == 1);
  const SigmaOrder::Placed write{.sigma = 9, .base = 0, .doubtful = false, .restarted = false};
  CHECK(world.core.group.make_out_of_date("a", "/page", &write));
  CHECK(world.floor("/page") == 9);
  late.start("GET", "", "/page");
  REQUIRE(world.calls.size() == 2);
  world.answer(1, "A", 8);  // ordered before the write
  CHECK_FALSE(world.core.group.holds(early.key("", "/page"), world.floors.slot_of("a", "/page"),
                                     world.sketch("A")));
  world.answer(2, "B", 10);
  later.start("GET", "", "/page");
  later.answer("B");
  CHECK(later.took().back() == "deliver 200 B, verified, an origin's");
}

TEST_CASE("ring: another member's write is not accepted where its partition is not taken") {
  WritesWorld world;
  const SigmaOrder::Placed write{.sigma = 9, .base = 0, .doubtful = false, .restarted = false};
  world.set_word(GENERATE(Stage::elsewhere, Stage::waiting));
  CHECK_FALSE(world.core.group.make_out_of_date("a", "/page", &write));
  CHECK(world.floor("/page") == 0);
  CHECK(world.order.newest() == 0);
}

}  // namespace prophecy::sketcher

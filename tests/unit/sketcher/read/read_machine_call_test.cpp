// Calls without the history: writes, and reads of routes that order them (state `ordered`).
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

// The floor of what was written.
Sigma floor_of(ReadWorld& world, std::string_view target) {
  return world.floors.at(world.floors.slot_of("a", target));
}

Bytes answer_with(ReadWorld& world, std::string_view field, std::string_view value) {
  http::Response response = response_of("done", 201);
  response.fields.add(field, value);
  sketch::AnswerCanonicalizer canonicalizer(world.profile);
  sketch::AnswerForm form;
  REQUIRE(canonicalizer.canonicalize(response, false, form) == sketch::AnswerFault::none);
  return sketch::encode(form);
}

}  // namespace

TEST_CASE("ordered: a write has a place in the group's order, and all the time that this takes") {
  ReadWorld world;
  Reader writer(world);
  writer.start("POST");
  CHECK(writer.took() == Lines{"order"});
  CHECK(writer.machine.state() == State::ordered);
  CHECK(world.counters.writes.get() == 1);
  CHECK(world.counters.reads.get() == 0);
  writer.group_answer("done", 7);
  CHECK(writer.took() == Lines{"deliver 200 done"});
  CHECK_FALSE(writer.machine.answer_sketch().has_value());
  CHECK(world.counters.answered_replicated.get() == 1);
}

TEST_CASE("ordered: a write that succeeds makes what is remembered of its URI out of date") {
  ReadWorld world;
  Reader writer(world);
  const auto [status, has_succeeded] = GENERATE(Catch::Generators::table<std::uint16_t, bool>(
      {{200, true}, {204, true}, {399, true}, {400, false}, {503, false}}));
  const bool is_wanted = GENERATE(true, false);
  writer.request.has_invalidation = is_wanted;
  writer.start("POST", "", "/page");
  writer.group_answer("", 7, status);
  const bool invalidates = has_succeeded && is_wanted;
  CHECK(floor_of(world, "/page") == (invalidates ? 7 : 0));
  CHECK(world.counters.invalidations.get() == (invalidates ? 1 : 0));
}

TEST_CASE("ordered: and of the URIs at the same origin that its answer names") {
  ReadWorld world;
  Reader writer(world);
  const std::string field = GENERATE("location", "content-location");
  writer.start("POST", "", "/pages");
  SECTION("a path") {
    writer.group_answer_in(answer_with(world, field, "/pages/1"), 7);
    CHECK(floor_of(world, "/pages/1") == 7);
  }
  SECTION("another host's") {
    writer.group_answer_in(answer_with(world, field, "http://b/pages/1"), 7);
    CHECK(floor_of(world, "/pages/1") == 0);
  }
  SECTION("another field") {
    writer.group_answer_in(answer_with(world, "x-location", "/pages/1"), 7);
    CHECK(floor_of(world, "/pages/1") == 0);
  }
  CHECK(floor_of(world, "/pages") == 7);
}

TEST_CASE("ordered: what an answer names is a path of the origins, whatever clients ask for") {
  ReadWorld world;
  // Clients ask for /shop, and nothing asks for / in the place of a route.
  world.worker.routes = {{.group = &world.core, .pattern = RoutePattern{{}, "/app"}}};
  Reader writer(world);
  writer.start("POST", "", "/app/items");
  SECTION("below the prefix of the route's origins") {
    writer.group_answer_in(answer_with(world, "location", "/app/items/7"), 7);
    CHECK(floor_of(world, "/app/items/7") == 7);
  }
  SECTION("outside of it, in the same group") {
    writer.group_answer_in(answer_with(world, "location", "/other/7"), 7);
    CHECK(floor_of(world, "/other/7") == 7);
  }
}

TEST_CASE("ordered: and it is out of date in each group that a route asks for it") {
  ReadWorld world, others, third;
  world.worker.routes = {{.group = &world.core, .pattern = RoutePattern{{}, "/app"}},
                         {.group = &third.core, .pattern = RoutePattern{{"b"}}},
                         {.group = &others.core, .pattern = RoutePattern{{}, "/items"}},
                         {.group = &others.core, .pattern = RoutePattern{{"a"}}}};
  for (ReadWorld* each : {&others, &third}) {
    Reader before(*each);
    before.start("POST", "", "/x");
    before.group_answer("", 5);
  }
  Reader writer(world);
  writer.start("POST", "", "/app/items");
  writer.group_answer_in(answer_with(world, "location", "/items/7"), 7);
  CHECK(floor_of(world, "/items/7") == 7);
  CHECK(floor_of(others, "/items/7") == 5);
  CHECK(floor_of(third, "/items/7") == 0);
}

TEST_CASE("ordered: a write that fails may have been carried out for all that") {
  ReadWorld world;
  Reader reader(world), writer(world), later(world);
  reader.start();
  const auto failure =
      GENERATE(ReplicatedFailure::too_few_replicas, ReplicatedFailure::no_agreement,
               ReplicatedFailure::overloaded, ReplicatedFailure::writes_refused,
               ReplicatedFailure::uncertain_write, ReplicatedFailure::view_too_old,
               ReplicatedFailure::view_too_new);
  // (Without a ring there is no other owner for what a group refuses for its view.)
  const bool has_left =
      failure != ReplicatedFailure::overloaded && failure != ReplicatedFailure::writes_refused &&
      failure != ReplicatedFailure::view_too_old && failure != ReplicatedFailure::view_too_new;
  writer.start("POST");
  writer.group_failure(failure);
  CHECK(writer.took() ==
        Lines{"order", fmt::format("refuse {} {}", replica_client::status_of(failure),
                                   replica_client::to_string(failure))});
  later.start();
  CHECK(world.calls.size() == (has_left ? 2 : 1));
  const bool is_out_of_date = failure == ReplicatedFailure::uncertain_write;
  CHECK(floor_of(world, "/") == (is_out_of_date ? 1 : 0));
  CHECK(world.counters.invalidations.get() == (is_out_of_date ? 1 : 0));
  CHECK(world.counters.failed.get() == 1);
  CHECK(world.counters.replicated_failures[static_cast<std::size_t>(failure)].get() == 1);
}

TEST_CASE("ordered: a write of which it is not known leaves what a route does not invalidate") {
  ReadWorld world;
  Reader writer(world);
  writer.request.has_invalidation = false;
  writer.start("POST");
  writer.group_failure(ReplicatedFailure::uncertain_write);
  CHECK(floor_of(world, "/") == 0);
  CHECK(world.counters.invalidations.get() == 0);
}

TEST_CASE("ordered: OPTIONS has a place in the order, and changes nothing") {
  ReadWorld world;
  Reader reader(world), asker(world), later(world);
  reader.start();
  asker.request.is_options = true;
  asker.start("OPTIONS");
  CHECK(asker.took() == Lines{"order"});
  if (GENERATE(true, false)) {
    asker.group_answer("", 7, 204);
  } else {
    asker.group_failure(ReplicatedFailure::no_agreement);
  }
  CHECK(floor_of(world, "/") == 0);
  later.start();
  CHECK(world.calls.size() == 1);
}

TEST_CASE("ordered: a route may have all its reads ordered, or answered by equal votes") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  SECTION("ordered") {
    reader.request.reads = Reads::replicated;
    reader.start();
    CHECK(reader.took() == Lines{"deadline", "order"});
    reader.group_answer("B", 7);
    CHECK(world.counters.answered_replicated.get() == 1);
    CHECK(floor_of(world, "/") == 0);
  }
  SECTION("by votes") {
    reader.request.reads = Reads::read_only;
    reader.start();
    CHECK(reader.took() == Lines{"deadline", "ask for votes"});
    const bool was_ordered = GENERATE(true, false);  // too few votes were equal
    reader.group_answer("B", was_ordered ? 7 : 0);
    CHECK(world.counters.answered_read_only.get() == (was_ordered ? 0 : 1));
    CHECK(world.counters.answered_replicated.get() == (was_ordered ? 1 : 0));
  }
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 B"});
  CHECK(world.table.lookup(reader.key())->answer == world.sketch("A"));
}

TEST_CASE("ordered: on such a route, lists of requests have them read as the history says") {
  ReadWorld world;
  Reader reader(world);
  reader.request.reads = Reads::replicated;
  reader.request.listed = Mark::whitelisted;
  reader.start();
  CHECK(reader.took() == Lines{"deadline", "ask 0"});
}

TEST_CASE("ordered: a call whose client has left, or has no more time, is cancelled") {
  ReadWorld world;
  Reader reader(world);
  reader.request.reads = Reads::replicated;
  reader.start();
  REQUIRE(reader.took() == Lines{"deadline", "order"});
  SECTION("left") {
    reader.leave();
    CHECK(reader.took() == Lines{"cancel the call", "no deadline"});
    CHECK(world.counters.abandoned.get() == 1);
  }
  SECTION("no more time") {
    reader.deadline();
    CHECK(reader.took() == Lines{"cancel the call", "refuse 504 read-timeout"});
    CHECK(world.counters.failed.get() == 1);
  }
}

TEST_CASE("ordered: a group that counts anew is noticed by its first answer") {
  ReadWorld world;
  Reader writer(world);
  for (const Sigma sigma : {Sigma{10}, Sigma{11}, Sigma{11}, Sigma{12}}) {
    writer.start("POST");
    writer.group_answer("", sigma);
  }
  CHECK(world.counters.group_restarts.get() == 1);
}

TEST_CASE("ordered: members of a group agree on a list of blocks only for a read that is no HEAD") {
  ReadWorld world;
  Reader reader(world);
  const std::string method = GENERATE("POST", "HEAD");
  reader.request.reads = Reads::replicated;
  reader.start(method);
  reader.group_answer_in(world.list_of(body_of_blocks(2)), 7);
  CHECK(reader.took().back() == "refuse 502 no-agreement");
}

}  // namespace prophecy::sketcher

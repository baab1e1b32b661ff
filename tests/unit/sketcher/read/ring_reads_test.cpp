// Reads of a sketcher that shares a site with others: what may be accepted by which claim
// (docs/ring.md, rules R4, R5, R7 and R10).
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using dht::Stage;
using State = ReadMachine::State;

namespace {

// How a partition, or the lease, is lost.
enum class Loss : std::uint8_t { given, given_and_back, lease_over };
void lose(ReadWorld& world, Loss loss) {
  if (loss == Loss::given) return world.set_word(Stage::elsewhere);
  if (loss == Loss::lease_over) return world.pass(2 * kLease);
  world.set_word(Stage::elsewhere);
  world.set_word(Stage::taken);
}
Loss any_loss() {
  return GENERATE(Loss::given, Loss::given_and_back, Loss::lease_over);
}

}  // namespace

TEST_CASE("ring: a request begins only where its partition is taken and the lease is in force") {
  RingWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  const bool is_write = GENERATE(true, false);
  reader.request.was_moved = GENERATE(true, false);
  SECTION("not known whose it is") {
    world.set_word(Stage::unknown);
  }
  SECTION("another member's") {
    world.set_word(Stage::elsewhere);
  }
  SECTION("not taken yet") {
    world.set_word(Stage::waiting);
  }
  SECTION("no lease") {
    world.pass(2 * kLease);
  }
  SECTION("only through the group, and that time is over, too") {
    world.set_word(Stage::group_only);
    world.pass(2 * kLease);
  }
  reader.start(is_write ? "POST" : "GET");
  CHECK(reader.took() == (is_write ? Lines{"move"} : Lines{"deadline", "no deadline", "move"}));
  CHECK(world.counters.moved.get() == 1);
  const std::uint64_t counted = reader.request.was_moved ? 0 : 1;
  CHECK(world.counters.reads.get() == (is_write ? 0 : counted));
  CHECK(world.counters.writes.get() == (is_write ? counted : 0));
}

TEST_CASE("ring: a route that is off asks one origin wherever the partition is") {
  RingWorld world;
  Reader reader(world);
  world.set_word(Stage::elsewhere);
  reader.request.mode = RouteMode::off;
  reader.start();
  CHECK(reader.took() == Lines{"deadline", "ask 0"});
  reader.answer("A");
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 A, an origin's"});
}

TEST_CASE("ring: a look-up is accepted while the word is that of the beginning") {
  RingWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start();
  CHECK(reader.took() == Lines{"deadline", "ask 0"});
  SECTION("it is") {
    world.pass(kLease - dht::Span(1));
    reader.answer("A");
    CHECK(reader.took() == Lines{"no deadline", "deliver 200 A, verified, an origin's"});
    CHECK(world.counters.moved.get() == 0);
  }
  SECTION("the partition, or the lease, is lost") {
    lose(world, any_loss());
    reader.answer(GENERATE("A", "B"));
    CHECK(reader.took() == Lines{"no deadline", "move"});
    CHECK(world.counters.answered_fast.get() == 0);
    CHECK(world.calls.empty());
  }
  SECTION("another partition's word is of no account") {
    const Partition own = partition_of(table::tag_of(reader.key()));
    world.set_word(Stage::elsewhere, static_cast<Partition>(own ^ 1));
    reader.answer("A");
    CHECK(reader.took() == Lines{"no deadline", "deliver 200 A, verified, an origin's"});
  }
}

TEST_CASE("ring: the history is not used when only the permission for the group is in force") {
  RingWorld world;
  Reader reader(world), other(world);
  world.remember(reader.key(), world.sketch("A"));
  const bool is_taken = GENERATE(true, false);
  if (!is_taken) world.set_word(Stage::group_only);
  if (is_taken) world.pass(kLease);
  reader.start();
  CHECK(reader.took() == Lines{"deadline"});
  other.start();
  REQUIRE(world.calls.size() == 2);  // nothing is shared
  world.answer(1, "B", 7);
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 B, verified"});
  // What another member has recorded meanwhile may be newer, unless the partition is ours.
  CHECK(world.table.lookup(reader.key())->answer == world.sketch(is_taken ? "B" : "A"));
  CHECK(world.order.newest() == 7);
  lose(world, Loss::lease_over);
  world.answer(2, "B", 8);
  CHECK(other.took() == Lines{"deadline", "no deadline", "move"});
}

TEST_CASE("ring: no call begins for a claim that is over") {
  RingWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start();
  lose(world, any_loss());
  reader.fail(ExchangeEnd::broken);  // another origin is asked, once
  (void)reader.took();
  reader.fail(ExchangeEnd::broken);
  CHECK(reader.took() == Lines{"no deadline", "move"});
  CHECK(world.calls.empty());
}

TEST_CASE("ring: the group's answer is recorded and given while the word is the call's") {
  RingWorld world;
  Reader first(world), second(world);
  first.start();
  second.start();
  REQUIRE(world.calls.size() == 1);
  CHECK(first.took() == Lines{"deadline"});
  CHECK(second.took() == Lines{"deadline"});
  SECTION("it is") {
    world.answer(1, "A", 7);
    for (Reader* reader : {&first, &second})
      CHECK(reader->took() == Lines{"no deadline", "deliver 200 A, verified"});
    CHECK(world.table.lookup(first.key())->answer == world.sketch("A"));
  }
  SECTION("it is not, or the lease is over") {
    lose(world, any_loss());
    world.answer(1, "A", 7);
    for (Reader* reader : {&first, &second})
      CHECK(reader->took() == Lines{"no deadline", "move"});
    CHECK_FALSE(world.table.lookup(first.key()).has_value());
    CHECK(world.counters.moved.get() == 2);
    CHECK(world.order.newest() == 7);  // what is submitted from now on lies beyond for all that
  }
  SECTION("the permission for the group is left: the answer is the first one's own") {
    world.pass(kLease);
    world.answer(1, "A", 7);
    CHECK(first.took() == Lines{"no deadline", "deliver 200 A, verified"});
    CHECK(second.took() == Lines{"no deadline", "move"});
    CHECK(world.table.lookup(first.key())->answer == world.sketch("A"));
  }
}

TEST_CASE("ring: a call that fails has no answer to accept") {
  RingWorld world;
  Reader reader(world);
  reader.start();
  lose(world, any_loss());
  world.fail(1);
  CHECK(reader.took() == Lines{"deadline", "no deadline", "refuse 503 too-few-replicas"});
}

TEST_CASE("ring: reads of different words share no call") {
  RingWorld world;
  Reader first(world), second(world), third(world);
  first.start();
  lose(world, Loss::given_and_back);
  second.start();
  third.start();
  REQUIRE(world.calls.size() == 2);
  CHECK(world.counters.coalesced.get() == 1);
  world.answer(2, "B", 8);
  world.answer(1, "A", 7);
  CHECK(first.took() == Lines{"deadline", "no deadline", "move"});
  for (Reader* reader : {&second, &third})
    CHECK(reader->took() == Lines{"deadline", "no deadline", "deliver 200 B, verified"});
}

TEST_CASE("ring: a read that asks again after a move has its answer by the word of now") {
  RingWorld world;
  Reader reader(world);
  reader.start();
  lose(world, Loss::given_and_back);
  world.answer(1, "A", 7);
  (void)reader.took();
  reader.request.was_moved = true;
  reader.start();
  world.answer(2, "B", 8);
  CHECK(reader.took() == Lines{"deadline", "no deadline", "deliver 200 B, verified"});
  CHECK(world.counters.reads.get() == 1);
}

TEST_CASE("ring: an observed answer is given without a call if the partition is lost") {
  RingWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.request.mode = RouteMode::observe;
  reader.start();
  lose(world, any_loss());
  (void)reader.took();
  reader.answer("B");
  CHECK(reader.took() == Lines{"no deadline", "deliver 200 B, an origin's"});
  CHECK(world.calls.empty());
}

TEST_CASE("ring: a body in blocks of a remembered list begins only while the word is the same") {
  RingWorld world;
  Reader reader(world);
  const std::string body = body_of_blocks(2);
  const Bytes list = world.list_of(body);
  world.remember(reader.key(), world.sketch_of_list(list));
  world.table.blocks().put(world.sketch_of_list(list), list);
  reader.start();
  CHECK(reader.machine.state() == State::relaying);
  (void)reader.took();
  http::Response first = response_of(body.substr(0, kBlock));
  SECTION("it is") {
    reader.progress(first, 0);
    CHECK(reader.took() == Lines{"no deadline", "begin", "extend", fmt::format("send {}", kBlock)});
  }
  SECTION("it is not") {
    lose(world, any_loss());
    reader.progress(first, 0);
    CHECK(reader.took() == Lines{"cancel 0", "no deadline", "move"});
    CHECK(reader.body.empty());
  }
}

TEST_CASE("ring: an ordered read is asked for again, where it belongs by then") {
  RingWorld world;
  Reader reader(world);
  reader.request.reads = GENERATE(Reads::replicated, Reads::read_only);
  reader.start();
  (void)reader.took();
  SECTION("the permission for the group is enough") {
    world.pass(kLease);
    reader.group_answer("A", 7);
    CHECK(reader.took() == Lines{"no deadline", "deliver 200 A"});
  }
  SECTION("lost") {
    lose(world, any_loss());
    reader.group_answer("A", 7);
    CHECK(reader.took() == Lines{"no deadline", "move"});
  }
}

TEST_CASE("ring: the sketcher judges no origin about partitions that are not its own") {
  RingWorld world;
  const bool is_owner = GENERATE(true, false);
  if (!is_owner) world.set_word(Stage::elsewhere);
  const Bytes list = world.list_of(body_of_blocks(2));
  Evidence evidence;
  evidence.replica = 2;
  evidence.is_confirmed = true;
  evidence.wrong_block = {0, Sha256::Digest{}};
  world.reads.on_refuted_block(shared_reads_test::kKey, form_of("GET", ""), "GET",
                               world.sketch_of_list(list), std::move(evidence), world.counters,
                               world.now);
  world.perform();
  CHECK(world.calls.size() == (is_owner ? 1 : 0));
  CHECK(world.noise() == (is_owner ? 0 : 1));
}

}  // namespace prophecy::sketcher

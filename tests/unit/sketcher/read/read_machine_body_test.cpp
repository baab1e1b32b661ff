// Answers in blocks: states `opening` and `relaying` of docs/reads.md.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;
using State = ReadMachine::State;

namespace {

const std::string kBlocksBody = body_of_blocks(2, 100);
const std::string kAskClient = fmt::format("ask the client for {}", kBlock);
const std::string kSendBlock = fmt::format("send {}", kBlock);

struct BlocksWorld : ReadWorld {
  void remember_list() {
    remember(reader.key(), sketch_of_list(list));
    REQUIRE(table.blocks().put(sketch_of_list(list), list));
  }
  void start_remembered() {
    remember_list();
    reader.start();
    REQUIRE(reader.took() == Lines{"deadline", kAskClient, "ask 0"});
  }
  // The group agrees on the list for this request.
  void start_agreed() {
    reader.start();
    REQUIRE(reader.took() == Lines{"deadline"});
    answer_in(1, list, 10);
    REQUIRE(reader.took() == Lines{kAskClient, "ask 0"});
  }
  void first_block(std::uint8_t slot = 0) {
    http::Response response = response_of(kBlocksBody.substr(0, kBlock));
    reader.progress(response, slot);
  }
  Bytes list = list_of(kBlocksBody);
  Reader reader{*this};
};

}  // namespace

TEST_CASE("blocks: a remembered list is read from one origin, block by block") {
  BlocksWorld world;
  world.start_remembered();
  CHECK(world.large.lists_found.get() == 1);
  CHECK(world.reader.machine.state() == State::relaying);
  CHECK(world.reader.machine.asked().piece_bytes == kBlock);
  world.first_block();
  CHECK(world.reader.took() == Lines{"no deadline", "begin", "extend", kSendBlock});
  CHECK(world.counters.answered_fast.get() == 1);
  CHECK(world.reader.machine.answer_sketch() == world.sketch_of_list(world.list));
  world.reader.answer(0, response_of(kBlocksBody.substr(kBlock)));
  CHECK(world.reader.took() == Lines{kSendBlock, "send 100", "end"});
  CHECK((world.reader.body == kBlocksBody));
  CHECK(world.large.completed.get() == 1);
  CHECK(world.ended(0, ExchangeEnd::answered) == 1);
  CHECK(world.calls.empty());
}

TEST_CASE("blocks: a stored list that is torn, or lost, is none") {
  BlocksWorld world;
  world.remember(world.reader.key(), world.sketch_of_list(world.list));
  if (GENERATE(true, false)) {
    REQUIRE(world.table.blocks().put(world.sketch_of_list(world.list),
                                     world.list_of(body_of_blocks(3))));
  }
  world.reader.start();
  CHECK(world.reader.took() == Lines{"deadline", "ask 0"});
  CHECK(world.reader.machine.state() == State::fast);
  CHECK(world.large.lists_found.get() == 0);
  // Its origin answers with what has a form in blocks: the group is asked for the list.
  world.reader.fail(ExchangeEnd::too_large);
  CHECK(world.calls.size() == 1);
}

TEST_CASE("blocks: a whole answer beyond what is agreed on as a whole leads to the group") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  const std::size_t more = GENERATE(0, 1);
  reader.start();
  reader.answer(std::string(world.profile.whole_answer_bytes() + more, 'x'));
  REQUIRE(world.calls.size() == 1);
  world.answer(1, "A", 10);
  // Neither is what the group agreed on as a whole.
  CHECK(world.accused.size() == 1);
}

TEST_CASE("blocks: reads whose answers are too large share one call") {
  ReadWorld world;
  Reader first(world), second(world);
  world.remember(first.key(), world.sketch("A"));
  first.start();
  second.start();
  first.fail(ExchangeEnd::too_large);
  second.fail(ExchangeEnd::too_large);
  CHECK(world.calls.size() == 1);
}

TEST_CASE("blocks: an answer beyond the limit of a connection refutes a small agreed one") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start();
  reader.fail(ExchangeEnd::too_large);
  REQUIRE(world.calls.size() == 1);
  const bool is_small = GENERATE(true, false);
  world.answer(1, is_small ? "A" : "B", 10);
  CHECK(world.accused.size() == (is_small ? 1 : 0));  // else the state has changed
}

TEST_CASE("blocks: a first block that differs has the group say which is right") {
  BlocksWorld world;
  world.start_remembered();
  http::Response wrong = response_of(std::string(kBlock, 'x'));
  world.reader.progress(wrong);
  CHECK(world.reader.took() == Lines{"cancel 0"});
  CHECK(world.reader.machine.state() == State::shared);
  CHECK(world.large.blocks_refuted.get() == 1);
  SECTION("the list is: its origin is accused, and the blocks come from the next one") {
    world.answer_in(1, world.list, 10);
    CHECK(world.accused.size() == 1);
    CHECK(world.accused[0].replica == 0);
    CHECK(world.reader.took() == Lines{kAskClient, "ask 0"});
    world.first_block();
    CHECK(world.counters.answered_replicated.get() == 1);
    CHECK(world.counters.answered_fast.get() == 0);
  }
  SECTION("the answer has changed") {
    world.answer(1, "small", 10);
    CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 small, verified"});
    CHECK(world.accused.empty());
  }
}

TEST_CASE("blocks: the second look-up decides with the first block") {
  BlocksWorld world;
  world.start_remembered();
  world.remember(world.reader.key(), world.sketch("new"), 5);
  world.first_block();
  CHECK(world.reader.took() == Lines{"cancel 0"});
  CHECK(world.reader.machine.state() == State::shared);
  world.answer(1, "new", 10);
  CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 new, verified"});
}

TEST_CASE("blocks: where f+1 origins fail before the first block, the group is asked") {
  BlocksWorld world;
  world.start_remembered();
  world.reader.fail(ExchangeEnd::broken);
  CHECK(world.reader.took() == Lines{"ask 1"});
  world.reader.fail(ExchangeEnd::timed_out);
  CHECK(world.reader.machine.state() == State::shared);
  world.answer_in(1, world.list, 10);
  CHECK(world.reader.took() == Lines{kAskClient, "ask 0"});
  CHECK(world.accused.empty());
}

TEST_CASE("blocks: an agreed list that no origin has is agreed on once more, and no more") {
  BlocksWorld world;
  world.start_agreed();
  const auto all_fail = [&] {
    for (int i = 0; i < 4; ++i)
      world.reader.fail(ExchangeEnd::timed_out);
  };
  all_fail();
  CHECK(world.reader.took() == Lines{"ask 1", "ask 2", "ask 3"});
  CHECK(world.reader.machine.state() == State::shared);
  REQUIRE(world.calls.size() == 1);
  SECTION("none has it") {
    world.answer_in(2, world.list, 11);
    CHECK(world.reader.took() == Lines{kAskClient, "ask 0"});
    all_fail();
    CHECK(world.reader.took() ==
          Lines{"ask 1", "ask 2", "ask 3", "no deadline", "refuse 503 too-few-replicas"});
    CHECK(world.calls.empty());
  }
  SECTION("another request does not join this call") {
    Reader other(world);
    other.start();
    CHECK(other.machine.state() != State::shared);
  }
}

TEST_CASE("blocks: an agreed list of an ordered read is ordered once more") {
  BlocksWorld world;
  world.reader.request.reads = Reads::replicated;
  world.reader.start("GET", std::string(kAgent));
  world.reader.group_answer_in(world.list, 10);
  CHECK(world.reader.took() == Lines{"deadline", "order", kAskClient, "ask 0"});
  // The group was asked with the client's own request, and so are the origins.
  CHECK(world.reader.wires[0] == world.reader.form.wire);
  for (int i = 0; i < 4; ++i)
    world.reader.fail(ExchangeEnd::timed_out);
  CHECK(world.reader.took() == Lines{"ask 1", "ask 2", "ask 3", "order"});
  world.reader.group_answer("small", 11);
  CHECK(world.reader.took() == Lines{"no deadline", "deliver 200 small"});
}

TEST_CASE("blocks: a wrong block behind good ones is noise for a list of this call") {
  BlocksWorld world;
  const bool is_remembered = GENERATE(true, false);
  is_remembered ? world.start_remembered() : world.start_agreed();
  world.first_block();
  world.reader.answer(0, response_of(std::string(kBlock, 'x')));
  CHECK(world.reader.took().back() == "ask 1");
  CHECK(world.accused.empty());
  CHECK(world.noise() == 0);
  http::Response rest = response_of(kBlocksBody.substr(kBlock), 206);
  rest.fields.add("content-range", fmt::format("bytes {}-{}/{}", kBlock, kBlocksBody.size() - 1,
                                               kBlocksBody.size()));
  world.reader.progress(rest);
  CHECK(world.reader.took().back() == "end");
  CHECK((world.reader.body == kBlocksBody));
  CHECK(world.accused.empty());
  CHECK(world.noise() == (is_remembered ? 0 : 1));
  if (!is_remembered) return;
  // The group has the last word on it.
  REQUIRE(world.calls.size() == 1);
  world.answer_in(world.calls.begin()->first, world.list, 12);
  CHECK(world.accused.size() == 1);
}

TEST_CASE("blocks: the client has left before its answer begins") {
  BlocksWorld world;
  world.remember_list();
  world.reader.client.has_left = true;
  world.reader.start();
  CHECK(world.reader.took() ==
        Lines{"deadline", kAskClient, "no deadline", "refuse 503 client-left"});
  CHECK(world.counters.abandoned.get() == 1);
}

TEST_CASE("blocks: a client that takes nothing yet has no deadline until it does") {
  BlocksWorld world;
  world.remember_list();
  world.reader.client.may_begin = false;
  world.reader.start();
  CHECK(world.reader.took() == Lines{"deadline", kAskClient, "no deadline"});
  world.reader.writable();
  CHECK(world.reader.took() == Lines{"deadline", "ask 0"});
  world.first_block();
  CHECK(world.reader.took() == Lines{"no deadline", "begin", "extend", kSendBlock});
  world.reader.writable();
  CHECK(world.reader.took().empty());
}

TEST_CASE("blocks: a client that leaves is counted as such until it has the head") {
  BlocksWorld world;
  world.start_remembered();
  const bool has_head = GENERATE(false, true);
  if (has_head) world.first_block();
  static_cast<void>(world.reader.took());
  world.reader.leave();
  CHECK(world.reader.took() == (has_head ? Lines{"cancel 0"} : Lines{"cancel 0", "no deadline"}));
  CHECK(world.counters.abandoned.get() == (has_head ? 0 : 1));
}

TEST_CASE("blocks: the time for a read ends with its head") {
  BlocksWorld world;
  world.start_remembered();
  world.reader.deadline();
  CHECK(world.reader.took() == Lines{"cancel 0", "refuse 504 read-timeout"});
}

TEST_CASE("blocks: two clients read one list, and a new read finds it") {
  BlocksWorld world;
  world.start_agreed();
  world.first_block();
  Reader other(world);
  other.start();
  CHECK(world.large.lists_found.get() == 1);
  CHECK(other.took() == Lines{"deadline", kAskClient, "ask 0"});
}

TEST_CASE("blocks: a part of the body is asked for by the blocks that it lies in") {
  BlocksWorld world;
  world.remember_list();
  world.reader.client = {.first = kBlock + 10, .size = 20};
  world.reader.start();
  REQUIRE(world.reader.wires.size() == 1);
  CHECK(world.reader.wires[0].ends_with(
      fmt::format("range: bytes={}-{}\r\n\r\n", kBlock, 2 * kBlock - 1)));
  CHECK(world.reader.machine.request_bytes() > 0);
}

}  // namespace prophecy::sketcher

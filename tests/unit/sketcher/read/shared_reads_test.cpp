#include <deque>

#include "http/parser.hpp"
#include "shared_reads_world.hpp"

namespace prophecy::sketcher {

using namespace shared_reads_test;

TEST_CASE("Equal reads that are under way share one answer") {
  World world;
  Client one(world), two(world), three(world);
  one.ask();
  two.ask();
  three.ask();
  REQUIRE(world.calls.size() == 1);
  world.answer(1, "A", 10);
  CHECK(one.got == Got{"A"});
  CHECK(two.got == Got{"A"});
  CHECK(three.got == Got{"A"});
  CHECK(world.counters.coalesced.get() == 2);
  CHECK(world.table.lookup(kKey)->answer == world.sketch("A"));

  Client later(world);
  later.ask();
  CHECK(world.calls.size() == 1);  // nothing was left to share
}

namespace {

sketch::RequestForm form_from(const std::string& lines, std::string_view client) {
  http::Request request;
  const http::MessageLimits limits;
  http::RequestParser parser(request, limits);
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\n" + lines + "\r\n";
  const auto head = parser.feed(text);
  REQUIRE(parser.feed(std::string_view(text).substr(head.consumed)).state ==
          http::ParseState::complete);
  sketch::RequestCanonicalizer canonicalizer;
  sketch::RequestForm form;
  const sketch::RequestContext context{.client_address = client};
  REQUIRE_FALSE(canonicalizer.locate(request, context, form).has_value());
  REQUIRE_FALSE(canonicalizer.canonicalize(request, context, {}, form).has_value());
  return form;
}

}  // namespace

// Otherwise one client's address or User-Agent would decide what all others get.
TEST_CASE("The group is asked for what the key says, and nothing of the first asker's own") {
  World world;
  const auto ask = [&](const sketch::RequestForm& form) {
    CHECK(world.reads.ask(kKey, form, "GET",
                          {.algorithm = read_of_unknown(),
                           .evidence = {},
                           .waiter = nullptr,
                           .counters = &world.counters,
                           .may_share = false}));
    world.perform();
  };
  ask(form_from("User-Agent: sqlmap\r\nReferer: evil\r\nX-Request-Id: 1\r\n", "10.0.0.7"));
  ask(form_from("", "203.0.113.9"));
  REQUIRE(world.calls.size() == 2);
  CHECK(world.calls[1] == world.calls[2]);
  CHECK(world.calls[1].find("x-forwarded-for: 192.0.2.1\r\n") != std::string::npos);
}

TEST_CASE("A failure is everybody's") {
  World world;
  Client one(world), two(world);
  one.ask();
  two.ask();
  world.fail(1);
  CHECK(one.got == Got{"failed"});
  CHECK(two.got == Got{"failed"});
}

TEST_CASE("Nothing is shared across a write, and nothing that must not be shared") {
  World world;
  Client before(world), after(world), alone(world), beside(world);
  before.ask();
  world.reads.on_write();
  after.ask();
  CHECK(world.calls.size() == 2);
  alone.ask(false);
  CHECK(world.calls.size() == 3);
  beside.ask();  // with the newest that may be shared
  CHECK(world.calls.size() == 3);
  world.answer(2, "B", 20);
  CHECK(after.got == Got{"B"});
  CHECK(beside.got == Got{"B"});
  CHECK(alone.got.empty());
}

TEST_CASE("Nothing is shared across a write of the URI by any worker") {
  World world;
  world.raise_floor(4);
  Client before(world), beside(world), after(world);
  before.ask();
  beside.ask();
  CHECK(world.calls.size() == 1);
  world.raise_floor(5);
  after.ask();
  CHECK(world.calls.size() == 2);
}

TEST_CASE("Who joined before a write was answered is not given what may be of a state before it") {
  World world;
  Client early(world), late(world);
  early.ask();
  late.ask();
  world.raise_floor(10);
  SECTION("its place is not behind the write's") {
    world.answer(1, "A", GENERATE(9, 10));
    CHECK(early.got == Got{"A"});  // it was under way together with the write
    CHECK(late.got == Got{"outdated"});
  }
  SECTION("its place is behind the write's") {
    world.answer(1, "A", 11);
    CHECK(late.got == Got{"A"});
    CHECK(world.table.lookup(kKey)->answer == world.sketch("A"));
  }
}

TEST_CASE("A vote that was asked for before a write was answered is not recorded") {
  World world;
  Client client(world), late(world);
  client.ask();
  late.ask();
  world.raise_floor(10);
  SECTION("before") {
    world.answer(1, "A", 12, 9);
    CHECK(late.got == Got{"outdated"});
    CHECK(world.table.lookup(kKey)->answer == kNoSketch);
  }
  SECTION("behind") {
    world.answer(1, "A", 12, 10);
    CHECK(late.got == Got{"A"});
    CHECK(world.table.lookup(kKey)->answer == world.sketch("A"));
  }
  CHECK(client.got == Got{"A"});
}

TEST_CASE("What is out of date is brought up though nobody waits, or forgotten") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 10) == UpdateOutcome::inserted);
  const bool is_out_of_date = GENERATE(true, false);
  if (is_out_of_date) world.raise_floor(10);
  auto client = std::make_unique<Client>(world);
  client->ask();
  SECTION("its client leaves") {
    client.reset();
    CHECK(world.calls.empty() != is_out_of_date);
    if (!is_out_of_date) return;
    Client other(world);
    other.ask();
    CHECK(world.calls.size() == 1);
    world.answer(1, "B", 11);
    CHECK(other.got == Got{"B"});
    CHECK(world.table.lookup(kKey)->answer == world.sketch("B"));
  }
  SECTION("the group does not answer") {
    world.fail(1);
    CHECK(world.table.lookup(kKey).has_value() != is_out_of_date);
  }
  SECTION("the group was not asked") {
    world.fail(1, ReplicatedFailure::overloaded);
    CHECK(world.table.lookup(kKey).has_value());
  }
}

TEST_CASE("What was agreed before an answer that may not be sketched does not count any more") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 9) == UpdateOutcome::inserted);
  const bool varies = GENERATE(false, true);
  const std::string body = varies ? std::string(kVarying) : "unavailable";
  const std::uint16_t status = varies ? 200 : 503;
  Client client(world), late(world);
  client.ask_about("B", "A");
  late.ask();
  const Got late_got{varies ? "another's" : body};
  SECTION("in the group's order") {
    world.answer(1, body, 10, std::nullopt, status);
    CHECK(late.got == late_got);
  }
  SECTION("as votes were asked for") {
    world.answer(1, body, 10, 9, status);
    CHECK(late.got == late_got);
  }
  SECTION("but it counts if that was the older one") {
    world.answer(1, body, 8, std::nullopt, status);
    CHECK(late.got == Got{varies ? "another's" : "outdated"});
    CHECK(world.table.lookup(kKey)->answer == world.sketch("A"));
    return;
  }
  CHECK(client.got == Got{body});
  const auto entry = world.table.lookup(kKey);
  REQUIRE(entry);
  CHECK(entry->answer == kNoSketch);
  CHECK(entry->sigma == 10);
  CHECK(world.counters.unsketchable.get() == 1);
  CHECK(world.counters.varies_unkeyed.get() == (varies ? 1 : 0));
}

TEST_CASE("A late read is given what another worker has stored first, if it is the same") {
  World world;
  Client early(world), late(world);
  early.ask();
  late.ask();
  SECTION("ordered behind it") {
    REQUIRE(world.table.update(kKey, world.sketch("A"), 11) == UpdateOutcome::inserted);
    world.answer(1, "A", 10);
    CHECK(late.got == Got{"A"});
  }
  SECTION("but a write was answered since") {
    REQUIRE(world.table.update(kKey, world.sketch("A"), 11) == UpdateOutcome::inserted);
    world.raise_floor(11);
    world.answer(1, "A", 10);
    CHECK(late.got == Got{"outdated"});
  }
  SECTION("but an operator has marked it") {
    REQUIRE(world.table.set_mark(kKey, Mark::whitelisted) == ChangeOutcome::done);
    world.answer(1, "A", 10);
    CHECK(late.got == Got{"outdated"});
  }
  CHECK(early.got == Got{"A"});
}

TEST_CASE("Those whose answer is outdated share one more call, and get what it brings") {
  World world;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(std::make_unique<Client>(world));
    clients.back()->asks_again = true;
    clients.back()->ask();
  }
  REQUIRE(world.calls.size() == 1);
  REQUIRE(world.table.update(kKey, world.sketch("B"), 11) == UpdateOutcome::inserted);
  world.answer(1, "A", 10);
  CHECK(clients[0]->got == Got{"A"});
  REQUIRE(world.calls.size() == 1);
  Client later(world);
  later.ask();
  CHECK(world.calls.size() == 1);
  // Another worker's is newer again. Theirs was begun after they came; `later` came behind it.
  REQUIRE(world.table.update(kKey, world.sketch("D"), 13) == UpdateOutcome::replaced);
  world.answer(2, "C", 12);
  for (int i = 1; i < 5; ++i)
    CHECK(clients[i]->got == Got{"outdated", "C"});
  CHECK(later.got == Got{"outdated"});
  CHECK(world.calls.empty());
  CHECK(world.counters.coalesced.get() == 5);  // each once
}

TEST_CASE("A late read is not given an answer older than what the history holds") {
  World world;
  Client early(world), late(world), late_again(world);
  early.ask();
  late.ask();
  late_again.asks_again = true;
  late_again.ask();
  // Another worker's read was ordered behind it, and answered first.
  REQUIRE(world.table.update(kKey, world.sketch("B"), 11) == UpdateOutcome::inserted);
  world.answer(1, "A", 10);
  CHECK(early.got == Got{"A"});  // it was under way together with the other
  CHECK(late.got == Got{"outdated"});
  REQUIRE(world.calls.size() == 1);
  world.answer(2, "B", 12);
  CHECK(late_again.got == Got{"outdated", "B"});
}

TEST_CASE("Nor one of which nobody knows whether it is older") {
  World world;
  Client early(world), late(world);
  early.ask();
  late.ask();
  // Votes on the same: another worker's overlapped this one, and was answered first.
  SECTION("with another answer") {
    REQUIRE(world.table.update_unordered(kKey, world.sketch("B"), 10, 11) ==
            UpdateOutcome::inserted);
    world.answer(1, "A", 12, 10);
    CHECK(early.got == Got{"A"});
  }
  SECTION("neither may be sketched: they may differ") {
    REQUIRE(world.table.update_unordered(kKey, kNoSketch, 10, 11) == UpdateOutcome::inserted);
    world.answer(1, std::string(kVarying), 12, 10);
    CHECK(early.got == Got{std::string(kVarying)});
    CHECK(late.got == Got{"another's"});
    return;
  }
  CHECK(late.got == Got{"outdated"});
}

TEST_CASE("Who leaves is not called, and the last one ends the call") {
  World world;
  Client one(world), two(world);
  one.ask();
  two.ask();
  world.leave(one);
  CHECK(world.calls.size() == 1);
  world.leave(two);
  CHECK(world.calls.empty());

  Client first(world), second(world);
  first.ask();
  second.ask();
  world.leave(first);
  world.answer(2, "A", 10);
  CHECK(first.got.empty());
  CHECK(second.got == Got{"A"});
}

TEST_CASE("Those who share a call leave it in any order") {
  World world;
  std::deque<Client> clients;
  std::vector<bool> stays(6, true);
  for (std::size_t i = 0; i < stays.size(); ++i)
    clients.emplace_back(world).ask();
  const std::vector<std::size_t> leaving =
      GENERATE(as<std::vector<std::size_t>>(), std::vector<std::size_t>{1, 5},
               std::vector<std::size_t>{5, 1}, std::vector<std::size_t>{2, 0, 3},
               std::vector<std::size_t>{0, 5, 4, 3, 2});
  for (const std::size_t client : leaving) {
    world.leave(clients[client]);
    stays[client] = false;
  }
  REQUIRE(world.calls.size() == 1);
  world.answer(1, "A", 10);
  for (std::size_t i = 0; i < stays.size(); ++i)
    CHECK(clients[i].got == (stays[i] ? Got{"A"} : Got{}));
}

TEST_CASE("A waiter that makes another one leave") {
  World world;
  struct Closing final : SharedReadWaiter {
    Closing(World& in, Client& of) : world(in), other(of) {}
    void on_shared_result(const SharedResult&) override { world.leave(other); }
    World& world;
    Client& other;
  };
  Client other(world);
  Closing closing(world, other);
  const sketch::RequestForm form;
  REQUIRE(world.reads.ask(kKey, form, "GET",
                          {.algorithm = read_of_unknown(),
                           .evidence = {},
                           .waiter = &closing,
                           .counters = &world.counters,
                           .may_share = true}));
  world.perform();
  other.ask();
  world.answer(1, "A", 10);
  CHECK(other.got.empty());
}

TEST_CASE("Only the one who began accuses") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client first(world), late(world);
  first.ask_about("X", "A");
  late.ask_about("Y", "A");
  world.answer(1, "A", 10);
  REQUIRE(world.accused.size() == 1);
  CHECK(world.accused[0].replica == 2);
  CHECK(world.accused[0].answer_digest == to_hex(world.sketch("X")));

  Client by_itself(world);
  by_itself.ask_about("X", "A");
  world.answer(2, "B", 20);  // the state had changed: nobody is to blame
  CHECK(world.accused.size() == 1);
  CHECK(world.counters.transitions.get() == 1);
}

TEST_CASE("Who gave a refuted answer before the group came to agree on it was early") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  std::uint64_t call = 0;
  const auto refute = [&](const std::string& answered) {
    Client client(world);
    client.ask_about(answered, "A");
    ++call;
    world.answer(call, "A", 10 + call);
  };
  refute("B");
  refute("B");
  refute("X");
  CHECK(world.accused.size() == 3);
  CHECK(world.vindications(2) == 0);
  // Of another request it says nothing.
  Client other(world);
  REQUIRE(other.ask_with(key_of('o'), read_of_unknown(), std::nullopt, true));
  world.answer(++call, "B", 90);
  CHECK(world.vindications(2) == 0);
  for (int i = 0; i < 2; ++i) {
    Client client(world);
    client.ask();
    ++call;
    world.answer(call, "B", 100 + call);
    CHECK(world.vindications(2) == 1);  // once
  }
}

TEST_CASE(
    "A transition is counted once for all reads that share a call, though the first has left") {
  World world;
  Client first(world), late(world);
  first.ask_about("X", "A");
  late.ask_about("X", "A");
  const bool has_left = GENERATE(false, true);
  if (has_left) world.leave(first);
  SECTION("a transition") {
    world.answer(1, "B", 10);
    CHECK(world.counters.transitions.get() == 1);
    CHECK(world.accused.empty());
  }
  SECTION("none") {
    REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
    world.answer(1, "A", 10);
    CHECK(world.counters.transitions.get() == 0);
    CHECK(world.accused.size() == (has_left ? 0 : 1));  // its evidence is gone
  }
  CHECK(late.got.size() == 1);
}

TEST_CASE("An answer that sets a cookie goes to the read that began the call, and to no other") {
  World world;
  Client first(world), late(world), again(world);
  first.ask();
  late.ask();
  world.answer(1, std::string(kCookie), 10);
  CHECK(first.got == Got{std::string(kCookie)});
  CHECK(late.got == Got{"another's"});
  CHECK(world.table.lookup(kKey)->answer == kNoSketch);
  again.ask(false);
  world.answer(2, std::string(kCookie), 11);
  CHECK(again.got == Got{std::string(kCookie)});
}

TEST_CASE("An origin is accused only where n - f members agreed on what the history holds") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client client(world);
  client.ask_about("X", "A");
  world.answer(1, "A", 10, std::nullopt, 200, false);
  CHECK(world.accused.empty());
  SECTION("later") {
    world.reads.on_strong_agreement(1, world.now);
    CHECK(world.accused.size() == 1);
  }
  SECTION("not when the history has changed since") {
    REQUIRE(world.table.update(kKey, world.sketch("B"), 20) == UpdateOutcome::replaced);
    world.reads.on_strong_agreement(1, world.now);
    CHECK(world.accused.empty());
  }
}

TEST_CASE("A vote accuses only where the history held the agreed answer all the while") {
  World world;
  const bool is_known = GENERATE(false, true);
  if (is_known) {
    REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  }
  Client client(world);
  client.ask();
  const std::uint16_t status = GENERATE(std::uint16_t{200}, std::uint16_t{429});
  const bool accuses = is_known && status == 200;
  SECTION("before the call's answer") {
    world.refute(1, 3, status);
    world.answer(1, "A", 10);
  }
  SECTION("behind it") {
    world.answer(1, "A", 10);
    world.refute(1, 3, status);
  }
  SECTION("with the third equal vote after it") {
    world.answer(1, "A", 10, std::nullopt, 200, false);
    world.refute(1, 3, status);
    CHECK(world.accused.empty());
    world.reads.on_strong_agreement(1, world.now);
  }
  CHECK(world.accused.size() == (accuses ? 1 : 0));
  CHECK(world.noise() == (accuses ? 0 : 1));
}

TEST_CASE("Votes on calls that are no reads of the history are noise") {
  World world;
  world.refute(0, 1);
  world.refute(77, 1);
  CHECK(world.accused.empty());
  CHECK(world.noise() == 2);
}

TEST_CASE("Reads without a waiter are done, and bounded") {
  World world;
  REQUIRE(ask_unwaited(world, kKey));
  Client client(world);
  client.ask();
  CHECK(world.calls.size() == 1);
  world.leave(client);
  CHECK(world.calls.size() == 1);
  world.answer(1, "A", 10);
  CHECK(world.table.lookup(kKey)->answer == world.sketch("A"));

  Sketch key{};
  for (std::size_t i = 0; i < SharedReads::kUnwaitedMax; ++i) {
    key[0] = static_cast<std::uint8_t>(i);
    key[1] = 1;
    REQUIRE(ask_unwaited(world, key));
  }
  key[1] = 2;
  CHECK_FALSE(ask_unwaited(world, key));
  world.answer(2, "A", 10);
  CHECK(ask_unwaited(world, key));
}

TEST_CASE("An answer without an order that was asked for before an import does not count either") {
  World world;
  Client client(world);
  client.ask();
  world.table.seed({table::tag_of(kKey), world.sketch("i"), table::make_state(900, Room::any)});
  world.answer(1, "a", 1001, 5);
  CHECK(world.table.lookup(kKey)->answer == kNoSketch);
}

}  // namespace prophecy::sketcher

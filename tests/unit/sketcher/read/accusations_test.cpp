// When an origin is accused: the four conditions of docs/reads.md, one by one, and the budget of
// confirming reads.
#include "read_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

namespace {

struct AccusationWorld : ReadWorld {
  AccusationWorld() { remember(key, sketch("A")); }

  // The group has refuted origin 2's answer `X`, with this status.
  const Accusations::Confirmation* refute(std::string constant_wire, std::uint16_t status = 200,
                                          NodeId replica = 2, const std::string& method = "GET") {
    const Bytes answered = encoded("X", status);
    const Bytes agreed = encoded("A", 200);
    return accusations.on_refuted_read(
        {key, slot, method, "/", "a"},
        Evidence::of(replica, *sketch::decode(answered), sketch("X")), *sketch::decode(agreed),
        sketch("A"), 10, std::move(constant_wire), counters, now);
  }
  // So many confirming reads of origin 2, each answered at once.
  int confirm(int times) {
    int confirmed = 0;
    for (; confirmed < times; ++confirmed) {
      const auto* const asked = refute("wire");
      if (asked == nullptr) break;
      CHECK_FALSE(
          accusations.on_confirmed(asked->number, ExchangeEnd::timed_out, {}, now).has_value());
    }
    return confirmed;
  }
  std::uint64_t noise_of(NodeId replica) const { return origins[replica].noise.get(); }

  Sketch key = shared_reads_test::key_of('a');
  WriteFloors::Slot slot = floors.slot_of("a", "/");
  Accusations& accusations = core.accusations;
};

}  // namespace

TEST_CASE("accused: a read without exceptions accuses at once") {
  AccusationWorld world;
  CHECK(world.refute("") == nullptr);
  REQUIRE(world.accused.size() == 1);
  CHECK(world.accused[0].replica == 2);
  CHECK(world.accused[0].answer_digest == to_hex(world.sketch("X")));
  CHECK(world.noise() == 0);
}

TEST_CASE("accused: an origin that was early is vindicated, once, for this request alone") {
  AccusationWorld world;
  world.refute("");
  world.accusations.on_agreed(shared_reads_test::key_of('b'), world.sketch("X"));
  world.accusations.on_agreed(world.key, world.sketch("A"));
  CHECK(world.vindications(2) == 0);
  world.accusations.on_agreed(world.key, world.sketch("X"));
  world.accusations.on_agreed(world.key, world.sketch("X"));
  CHECK(world.vindications(2) == 1);
  CHECK(world.vindications(1) == 0);
}

TEST_CASE("condition 3: an answer that says that its origin is busy accuses nobody") {
  AccusationWorld world;
  const auto [status, is_busy] =
      GENERATE(Catch::Generators::table<std::uint16_t, bool>({{500, true},
                                                              {503, true},
                                                              {599, true},
                                                              {408, true},
                                                              {425, true},
                                                              {429, true},
                                                              {404, false},
                                                              {499, false}}));
  CHECK(world.refute("", status) == nullptr);
  CHECK(world.accused.size() == (is_busy ? 0 : 1));
  CHECK(world.noise() == (is_busy ? 1 : 0));
  // The group gave the settled answer: it is a failure of the origin's.
  CHECK(world.origins[2].error_answers.get() == (is_busy ? 1 : 0));
}

TEST_CASE("conditions 3 and 4: a busy answer to exceptions counts if constants get it too") {
  AccusationWorld world;
  const auto* const asked = world.refute("wire", 503);
  REQUIRE(asked != nullptr);
  CHECK(world.origins[2].error_answers.get() == 0);
  const bool is_busy = GENERATE(true, false);
  const http::Response response = is_busy ? response_of("no", 503) : response_of("A");
  CHECK_FALSE(
      world.accusations.on_confirmed(asked->number, ExchangeEnd::answered, response, world.now)
          .has_value());
  CHECK(world.origins[2].error_answers.get() == (is_busy ? 1 : 0));
  CHECK(world.accused.empty());
}

TEST_CASE("condition 4: a key whose answers depend on the exceptions takes no budget for a while") {
  AccusationWorld world;
  const auto* const first = world.refute("wire");
  REQUIRE(first != nullptr);
  CHECK_FALSE(world.accusations
                  .on_confirmed(first->number, ExchangeEnd::answered, response_of("A"), world.now)
                  .has_value());
  for (int i = 0; i < 100; ++i)
    CHECK(world.refute("wire") == nullptr);
  world.now += seconds(31);
  CHECK(world.refute("wire") != nullptr);
}

TEST_CASE("condition 4: a read with exceptions has the same origin asked once more") {
  AccusationWorld world;
  const std::string method = GENERATE("GET", "HEAD");
  const auto* const asked = world.refute("wire", 200, 2, method);
  REQUIRE(asked != nullptr);
  CHECK(world.accused.empty());
  CHECK(world.accusations.under_way() == 1);
  CHECK(asked->replica == 2);
  CHECK(asked->form.wire == "wire");
  CHECK(asked->form.is_read);
  CHECK(asked->form.is_head == (method == "HEAD"));
  CHECK((asked->form.authority == "a" && asked->form.target == "/"));
  CHECK(asked->method == method);
  CHECK(asked->expected == world.sketch("A"));
}

TEST_CASE("condition 4: the confirming read's answer decides whether the group is asked again") {
  AccusationWorld world;
  const auto* const asked = world.refute("wire");
  REQUIRE(asked != nullptr);
  const auto confirmed = [&](http::Response response, ExchangeEnd end = ExchangeEnd::answered) {
    auto result = world.accusations.on_confirmed(asked->number, end, response, world.now);
    CHECK(world.accusations.under_way() == 0);
    CHECK(world.origins[2].confirmations.get() == 1);
    CHECK(world.ended(2, end) == 1);
    return result;
  };
  SECTION("otherwise again") {
    const auto result = confirmed(response_of("Y"));
    REQUIRE(result.has_value());
    CHECK(result->evidence.is_confirmed);
    CHECK(result->evidence.replica == 2);
    CHECK(result->evidence.sketch == world.sketch("Y"));
    CHECK(world.noise() == 0);
  }
  SECTION("an answer without a form") {
    http::Response response = response_of("A", 418);
    response.fields.add("connection", "set-cookie");
    const auto result = confirmed(std::move(response));
    REQUIRE(result.has_value());
    CHECK(result->evidence.status == 418);
    CHECK_FALSE(result->evidence.sketch.has_value());
  }
  SECTION("as the group") {
    CHECK_FALSE(confirmed(response_of("A")).has_value());
    CHECK(world.noise_of(2) == 1);
  }
  SECTION("busy") {
    CHECK_FALSE(confirmed(response_of("Y", 503)).has_value());
    CHECK(world.noise_of(2) == 1);
    CHECK(world.origins[2].error_answers.get() == 1);
  }
  SECTION("not at all") {
    CHECK_FALSE(confirmed({}, ExchangeEnd::timed_out).has_value());
    CHECK(world.noise_of(2) == 0);
  }
  SECTION("otherwise, and the history holds another answer by now") {
    world.remember(world.key, world.sketch("B"), 5);
    CHECK_FALSE(confirmed(response_of("Y")).has_value());
    CHECK(world.noise_of(2) == 1);
  }
  SECTION("otherwise, and the history's answer is out of date by now") {
    world.floors.raise(world.slot, 1);
    CHECK_FALSE(confirmed(response_of("Y")).has_value());
    CHECK(world.noise_of(2) == 1);
  }
  CHECK(world.accused.empty());
}

TEST_CASE("condition 4: an answer to no confirming read is none") {
  AccusationWorld world;
  CHECK_FALSE(world.accusations.on_confirmed(1, ExchangeEnd::answered, {}, world.now).has_value());
  CHECK(world.origins[2].confirmations.get() == 0);
}

TEST_CASE("confirming reads of one origin: four under way") {
  AccusationWorld world;
  world.now = TimePoint(std::chrono::hours(1));
  const auto* last = world.refute("wire");
  for (std::uint32_t i = 1; i < Accusations::kUnderWayMax; ++i)
    last = world.refute("wire");
  REQUIRE(last != nullptr);
  CHECK(world.refute("wire") == nullptr);
  CHECK(world.accusations.under_way() == 4);
  CHECK(world.noise_of(2) == 1);
  CHECK(world.refute("wire", 200, 1) != nullptr);  // each origin has its own
  static_cast<void>(
      world.accusations.on_confirmed(last->number, ExchangeEnd::timed_out, {}, world.now));
  CHECK(world.refute("wire") != nullptr);
}

TEST_CASE("confirming reads of one origin: ten at once, then one in a second") {
  AccusationWorld world;
  world.now = TimePoint(std::chrono::hours(1));
  CHECK(world.confirm(11) == 10);
  CHECK(world.noise_of(2) == 1);
  world.now += seconds(1) - milliseconds(1);
  CHECK(world.confirm(1) == 0);
  world.now += milliseconds(1);
  CHECK(world.confirm(2) == 1);
  world.now += seconds(3);
  CHECK(world.confirm(4) == 3);
  world.now += std::chrono::hours(1);
  CHECK(world.confirm(11) == 10);  // no more are saved up
}

TEST_CASE("conditions 1 to 3 are looked at again, after the confirming read") {
  ReadWorld world;
  Reader reader(world);
  world.remember(reader.key(), world.sketch("A"));
  reader.start("GET", std::string(kAgent));
  reader.answer("X");
  world.answer(1, "A", 10);
  REQUIRE(world.confirmations.size() == 1);
  world.core.shared.on_confirmed(world.confirmations[0], ExchangeEnd::answered, response_of("X"),
                                 world.now);
  world.settle();
  REQUIRE(world.calls.size() == 1);  // the group is asked once more
  CHECK(world.accused.empty());
  SECTION("the same answer, by n - f alike") {
    world.answer(2, "A", 11);
    CHECK(world.accused.size() == 1);
  }
  SECTION("by fewer") {
    world.answer(2, "A", 11, std::nullopt, 200, false);
    CHECK(world.accused.empty());
  }
  SECTION("another answer") {
    world.answer(2, "X", 11);
    CHECK(world.accused.empty());
  }
  SECTION("none") {
    world.fail(2);
    CHECK(world.accused.empty());
  }
  CHECK(world.confirmations.size() == 1);  // no origin is asked a third time
}

TEST_CASE(
    "a vote that differs accuses where the history held the answer, and its status says more") {
  AccusationWorld world;
  const bool is_settled = GENERATE(true, false);
  const std::uint16_t status = GENERATE(std::uint16_t{0}, std::uint16_t{200}, std::uint16_t{503});
  replica_client::Refutation vote;
  vote.replica = 3;
  vote.vote_status = status;
  world.accusations.on_refuted_vote(vote, world.key, is_settled);
  const bool accuses = is_settled && status != 503;
  CHECK(world.accused.size() == (accuses ? 1 : 0));
  CHECK(world.noise_of(3) == (accuses ? 0 : 1));
}

}  // namespace prophecy::sketcher

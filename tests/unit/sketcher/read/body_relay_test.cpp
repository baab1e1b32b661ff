// Verified blocks of an agreed list: right ones, wrong ones, and the rest from another origin.
#include "body_relay_world.hpp"

namespace prophecy::sketcher {

using namespace read_test;

namespace {

const std::string kBody = body_of_blocks(3, 7);

}  // namespace

TEST_CASE("relay: no byte of a block goes on before the block is whole and right") {
  RelayWorld world;
  CHECK(world.start_all(Source::remembered, kBody) == Step::waits);
  CHECK(world.took() == Lines{"ask 0"});
  CHECK(world.wire == kWire);
  CHECK(world.piece(kBody.substr(0, kBlock - 1)) == Step::waits);
  CHECK(world.took().empty());
  CHECK(world.piece(kBody.substr(kBlock - 1, 2)) == Step::waits);
  CHECK(world.took() == Lines{"verified", "extend", kSend});
  CHECK((world.body == kBody.substr(0, kBlock)));
  CHECK(world.large.begun.get() == 1);
  CHECK(world.end(ExchangeEnd::answered, kBody.substr(kBlock + 1)) == Step::complete);
  CHECK(world.took() == Lines{kSend, kSend, "send 7"});
  CHECK((world.body == kBody));
  CHECK(world.large.switched.get() == 0);
}

TEST_CASE("relay: an origin is let go once all that is wanted has come") {
  RelayWorld world;
  const std::string two = body_of_blocks(2);
  CHECK(world.start_all(Source::agreed, two) == Step::waits);
  CHECK(world.wire == "");
  CHECK(world.piece(two) == Step::complete);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", kSend, "extend", kSend, "cancel"});
  CHECK((world.body == two));
}

TEST_CASE("relay: the rest comes from another origin, by a range") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kBody) == Step::waits);
  CHECK(world.piece(kBody.substr(0, kBlock + 10)) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", kSend, "ask 1"});
  CHECK(world.large.switched.get() == 1);
  CHECK(world.ended(0, ExchangeEnd::broken) == 1);
  CHECK(world.wire == fmt::format("GET / HTTP/1.1\r\nhost: a\r\nrange: bytes={}-{}\r\n\r\n", kBlock,
                                  kBody.size() - 1));
  SECTION("which gives it") {
    CHECK(world.piece(world.part(kBody, 1, 3)) == Step::complete);
  }
  SECTION("which gives the whole: what is before it is passed over") {
    CHECK(world.piece(kBody.substr(0, kBlock / 2)) == Step::waits);
    CHECK(world.took() == Lines{"extend"});
    CHECK(world.piece(kBody.substr(kBlock / 2)) == Step::complete);
  }
  CHECK((world.body == kBody));
}

TEST_CASE("relay: an answer with too few bytes, or none, is followed by another origin's") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kBody) == Step::waits);
  CHECK(world.piece(kBody.substr(0, kBlock)) == Step::waits);
  CHECK(world.end(ExchangeEnd::answered, kBody.substr(kBlock, kBlock - 1)) == Step::waits);
  CHECK(world.took().back() == "ask 1");
  CHECK(world.end(ExchangeEnd::not_sent) == Step::waits);
  CHECK(world.took() == Lines{"ask 2"});
  CHECK(world.large.switched.get() == 2);
  CHECK(world.end(ExchangeEnd::not_sent) == Step::waits);
  CHECK(world.end(ExchangeEnd::not_sent) == Step::broken);
  CHECK(world.took() == Lines{"ask 3"});
  CHECK(world.body.size() == kBlock);
}

TEST_CASE("relay: a good block gives origins that have failed another chance") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kBody) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  CHECK(world.piece(kBody.substr(0, kBlock)) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  CHECK(world.took() ==
        Lines{"ask 0", "ask 1", "ask 2", "ask 3", "verified", "extend", kSend, "ask 0"});
}

TEST_CASE("relay: an origin that has brought a wrong block is not asked again, and named at last") {
  RelayWorld world;
  REQUIRE(world.start(Source::remembered, kBody, 0, kBody.size(), true, kConstantWire) ==
          Step::waits);
  CHECK(world.piece(kBody.substr(0, kBlock)) == Step::waits);
  std::string wrong = kBody.substr(kBlock, kBlock);
  wrong.back() ^= 1;
  CHECK(world.piece(wrong) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "verified", "extend", kSend, "cancel", "ask 1"});
  CHECK(world.large.blocks_refuted.get() == 1);
  CHECK_FALSE(world.relay.take_divergence().has_value());
  // Only once another one has brought the list's.
  CHECK(world.piece(world.part(kBody, 1, 3)) == Step::complete);
  const auto suspect = world.relay.take_divergence();
  REQUIRE(suspect.has_value());
  CHECK(suspect->replica == 0);
  CHECK(suspect->block == 1);
  CHECK_FALSE(world.relay.take_divergence().has_value());
}

TEST_CASE("relay: a wrong block that nobody brings better is noise") {
  RelayWorld world;
  REQUIRE(world.start(Source::remembered, kBody, 0, kBody.size(), true, kConstantWire) ==
          Step::waits);
  CHECK(world.piece(kBody.substr(0, kBlock)) == Step::waits);
  const std::string wrong(kBlock, 'x');
  for (int i = 0; i < 4; ++i) {
    http::Response part = world.part(kBody, 1, 3);
    part.body = wrong;
    CHECK(world.piece(i == 0 ? response_of(wrong) : part) == (i == 3 ? Step::broken : Step::waits));
  }
  CHECK_FALSE(world.relay.take_divergence().has_value());
  CHECK(world.large.blocks_refuted.get() == 4);
}

TEST_CASE("relay: the first wrong block of a remembered list refutes, once asked with constants") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::remembered, kBody) == Step::waits);
  const std::string wrong(kBlock, 'x');
  CHECK(world.piece(wrong) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "cancel", "ask 0"});
  CHECK(world.wire == kConstantWire);
  SECTION("otherwise again") {
    CHECK(world.piece(wrong) == Step::refuted);
    CHECK(world.took() == Lines{"cancel"});
    const Evidence evidence = world.relay.take_refutation();
    CHECK(evidence.replica == 0);
    CHECK(evidence.status == 200);
    CHECK(evidence.blocks.length == kBody.size());
    CHECK_FALSE(evidence.blocks.matches(0, kBody.substr(0, kBlock)));
    CHECK(evidence.blocks.matches(0, wrong));
    CHECK(evidence.blocks.matches(1, kBody.substr(kBlock, kBlock)));
  }
  SECTION("as the list has it") {
    CHECK(world.piece(kBody) == Step::complete);
    CHECK((world.body == kBody));
  }
  SECTION("another origin is asked with constants from the beginning") {
    CHECK(world.end(ExchangeEnd::broken) == Step::waits);
    CHECK(world.took() == Lines{"ask 1"});
    CHECK(world.piece(wrong) == Step::refuted);
  }
}

TEST_CASE("relay: another head than a remembered list's refutes it, likewise") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::remembered, kBody) == Step::waits);
  http::Response other = response_of(kBody);
  SECTION("another status") {
    other.status = 404;
  }
  SECTION("another length") {
    other.fields.add("content-length", std::to_string(kBody.size() - 1));
  }
  SECTION("another field") {
    other.fields.add("content-type", "text/plain");
  }
  SECTION("one without a form") {
    other.fields.add("connection", "set-cookie");
  }
  const std::uint16_t status = other.status;
  CHECK(world.piece(http::Response(other)) == Step::waits);
  CHECK(world.took() == Lines{"ask 0", "cancel", "ask 0"});
  const Step step = world.piece(std::move(other));
  CHECK(step == Step::refuted);
  CHECK(world.relay.take_refutation().status == status);
  CHECK(world.large.blocks_refuted.get() == 0);
}

TEST_CASE(
    "relay: the head of an agreed list is the list's; an origin with another length is left") {
  RelayWorld world;
  REQUIRE(world.start_all(Source::agreed, kBody) == Step::waits);
  SECTION("another field is nothing") {
    http::Response other = response_of(kBody);
    other.fields.add("content-type", "text/plain");
    other.fields.add("content-length", std::to_string(kBody.size()));
    const Step step = world.piece(std::move(other));
    CHECK(step == Step::complete);
  }
  SECTION("another status or length") {
    for (int i = 0; i < 4; ++i) {
      http::Response other = response_of(kBody, i == 0 ? 404 : 200);
      other.fields.add("content-length", std::to_string(kBody.size() + 1));
      const Step step = world.piece(std::move(other));
      CHECK(step == (i == 3 ? Step::failed : Step::waits));
    }
    CHECK(world.took() ==
          Lines{"ask 0", "cancel", "ask 1", "cancel", "ask 2", "cancel", "ask 3", "cancel"});
  }
}

TEST_CASE("relay: f+1 failures are enough where the group can say more") {
  RelayWorld world;
  const auto source = GENERATE(Source::remembered, Source::agreed);
  REQUIRE(world.start_all(source, kBody) == Step::waits);
  CHECK(world.end(ExchangeEnd::broken) == Step::waits);
  const Step second = world.end(ExchangeEnd::broken);
  CHECK(second == (source == Source::remembered ? Step::failed : Step::waits));
  CHECK(world.large.switched.get() == 0);  // nothing had been sent
}

}  // namespace prophecy::sketcher

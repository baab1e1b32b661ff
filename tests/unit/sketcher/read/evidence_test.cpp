// Judgements of SharedReads and Accusations on answers that differ from the group's.
#include <catch2/catch.hpp>

#include "canonical/block_list.hpp"
#include "shared_reads_world.hpp"

namespace prophecy::sketcher {
namespace {

using namespace shared_reads_test;

constexpr NodeId kOrigin = 2;

// The encoded form of an answer of 200 kB in blocks.
Bytes form_in_blocks(const sketch::Profile& profile) {
  sketch::BlockHasher hasher(64 << 10);
  for (int i = 0; i < 200; ++i)
    REQUIRE(hasher.update(std::string(1000, 'x')));
  http::Response response;
  response.status = sketch::kStatusInBlocks;
  sketch::AnswerCanonicalizer canonicalizer(profile);
  sketch::AnswerForm form;
  REQUIRE(canonicalizer.canonicalize(response, false, form) == sketch::AnswerFault::none);
  form.blocks = hasher.finish();
  return sketch::encode(form);
}

TEST_CASE("An answer beyond the memory for it refutes a small agreed one, and none in blocks") {
  World world;
  const bool is_large = GENERATE(false, true);
  const Bytes blocks = form_in_blocks(world.profile);
  const Sketch expected = is_large ? world.function.of(*sketch::decode(blocks)) : world.sketch("A");
  REQUIRE(world.table.update(kKey, expected, 1) == UpdateOutcome::inserted);
  Evidence evidence;
  evidence.replica = kOrigin;
  evidence.is_too_large = true;
  Client client(world);
  client.ask_with_evidence(std::move(evidence), expected);
  is_large ? world.answer_in(1, blocks, 10) : world.answer(1, "A", 10);
  CHECK(world.accused.size() == (is_large ? 0 : 1));
  CHECK(world.noise() == 0);
}

TEST_CASE("A wish to be asked later is a failure where the group gave the settled answer") {
  World world;
  const bool is_known = GENERATE(false, true);
  const std::uint16_t status = GENERATE(std::uint16_t{408}, std::uint16_t{425}, std::uint16_t{429});
  if (is_known) {
    REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  }
  Client client(world);
  SECTION("to a vote") {
    client.ask();
    world.refute(1, kOrigin, status);
    world.answer(1, "A", 10);
    CHECK(world.origins[kOrigin].error_answers.get() == (is_known ? 1 : 0));
  }
  SECTION("to a fast read") {
    Evidence evidence;
    evidence.replica = kOrigin;
    evidence.status = status;
    client.ask_with_evidence(std::move(evidence), world.sketch("A"));
    world.answer(1, "A", 10);
    CHECK(world.origins[kOrigin].error_answers.get() == 1);  // the read had known it
  }
  CHECK(world.accused.empty());
}

TEST_CASE("A vote that the group comes to agree on was early") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client client(world);
  std::uint64_t call = 0;
  const auto read = [&](const std::string& body) {
    client.ask();
    ++call;
    world.answer(call, body, 10 + call);
  };
  for (const std::string_view vote : {"B", "B", "C"}) {
    read("A");
    world.refute(call, kOrigin, 200, vote);
  }
  CHECK(world.accused.size() == 3);
  read("A");
  CHECK(world.vindications(kOrigin) == 0);
  read("B");
  CHECK(world.vindications(kOrigin) == 1);
  read("B");
  CHECK(world.vindications(kOrigin) == 1);  // once
}

TEST_CASE("A vote that accused nobody vindicates nobody") {
  World world;  // the history does not know the answer
  Client client(world);
  client.ask();
  world.answer(1, "A", 10);
  world.refute(1, kOrigin, 200, "B");
  client.ask();
  world.answer(2, "B", 11);
  CHECK(world.accused.empty());
  CHECK(world.vindications(kOrigin) == 0);
}

TEST_CASE("A write between an answer and its judgement makes a difference noise") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client client(world);
  // One write has changed the answer, and another one has put it back: both look-ups found A.
  SECTION("of a fast answer") {
    client.ask_about("X", "A");
    world.raise_floor(12);
    world.answer(1, "A", 13);
  }
  SECTION("of a vote") {
    client.ask();
    world.raise_floor(12);
    world.answer(1, "A", 13);
    world.refute(1, kOrigin);
  }
  CHECK(world.accused.empty());
  CHECK(world.noise() == 1);
}

TEST_CASE("A vote with the right answer at a wrong place was not early") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  Client client(world);
  for (std::uint64_t call = 1; call <= 3; ++call) {
    client.ask();
    world.answer(call, "A", 10 + call);
    const Sha256::Digest digest = World::digest("A");
    replica_client::Refutation vote;
    vote.replica = kOrigin;
    vote.vote_status = 200;
    vote.vote_digest = vote.agreed_digest = digest;
    world.reads.on_refuted(call, vote);
  }
  CHECK(world.accused.size() == 3);
  CHECK(world.vindications(kOrigin) == 0);
}

TEST_CASE("Reads without a waiter take no place of a judgement") {
  World world;
  REQUIRE(world.table.update(kKey, world.sketch("A"), 1) == UpdateOutcome::inserted);
  for (std::size_t i = 0; i < SharedReads::kUnwaitedMax; ++i) {
    Sketch key = key_of('u');
    key[1] = static_cast<std::uint8_t>(i);
    REQUIRE(ask_unwaited(world, key));
  }
  CHECK_FALSE(ask_unwaited(world, key_of('v')));
  const std::size_t calls = world.calls.size();
  Evidence evidence;
  evidence.replica = kOrigin;
  evidence.is_confirmed = true;
  evidence.wrong_block = {0, {}};
  const sketch::RequestForm form;
  world.reads.on_refuted_block(kKey, form, "GET", world.sketch("A"), std::move(evidence),
                               world.counters, world.now);
  world.perform();
  CHECK(world.calls.size() == calls + 1);
  CHECK(world.noise() == 0);
}

TEST_CASE("Evidence of a long list of blocks is bounded") {
  sketch::AnswerForm form;
  form.status = sketch::kStatusInBlocks;
  const Bytes digests(4 << 20);
  form.blocks = {.length = std::uint64_t{1} << 35, .block_bytes = 256 << 10, .digests = digests};
  const Evidence kept = Evidence::of(kOrigin, form, std::nullopt);
  CHECK(kept.block_digests.capacity() <= Evidence::kDigestBytesMax);
  // A block behind the kept ones is still named.
  Evidence wrong;
  wrong.wrong_block = {100'000, {}};
  CHECK(wrong.against(form).wrong_block->block == 100'000);
}

}  // namespace
}  // namespace prophecy::sketcher

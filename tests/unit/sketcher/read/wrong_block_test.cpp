// Blocks that differ from a list of the history: whom they accuse.
#include "shared_reads_world.hpp"

namespace prophecy::sketcher::shared_reads_test {
namespace {

constexpr std::uint32_t kBlockBytes = sketch::kBlockBytesMin;

// The form of an answer in two blocks, encoded.
Bytes list_of(char first, char second) {
  sketch::BlockHasher hasher(kBlockBytes);
  REQUIRE(hasher.update(std::string(kBlockBytes, first)));
  REQUIRE(hasher.update(std::string(kBlockBytes, second)));
  const sketch::Profile profile;
  sketch::AnswerCanonicalizer canonicalizer(profile);
  http::Response response;
  response.status = sketch::kStatusInBlocks;
  sketch::AnswerForm form;
  REQUIRE(canonicalizer.canonicalize(response, false, form) == sketch::AnswerFault::none);
  form.blocks = hasher.finish();
  return sketch::encode(form);
}

struct Reader {
  Reader() { REQUIRE(world.table.update(kKey, held, 1) == UpdateOutcome::inserted); }

  // Origin 2 has brought a second block of another letter.
  void refute() {
    Evidence evidence;
    evidence.replica = 2;
    evidence.status = sketch::kStatusInBlocks;
    evidence.is_confirmed = true;
    evidence.wrong_block = {1, sha256(as_bytes(std::string(kBlockBytes, 'x')))};
    world.reads.on_refuted_block(kKey, form, "GET", held, std::move(evidence), world.counters,
                                 world.now);
    world.perform();
  }
  void answer(std::uint64_t number, Bytes agreed, bool is_strong) {
    REQUIRE(world.calls.erase(number) == 1);
    if (is_strong) world.reads.on_strong_agreement(number, world.now);
    ReplicatedAnswer answer;
    answer.sigma = 10 + number;
    answer.storage = std::move(agreed);
    answer.form = *sketch::decode(answer.storage);
    world.reads.on_answer(number, std::move(answer), world.now);
    world.settle();
  }

  World world;
  sketch::RequestForm form;
  const Bytes list = list_of('a', 'b');
  const Sketch held = world.function.of(*sketch::decode(list));
};

}  // namespace

TEST_CASE("A wrong block accuses once n - f members agree on the list that the history held") {
  Reader reader;
  reader.refute();
  CHECK(reader.world.accused.empty());
  REQUIRE(reader.world.calls.size() == 1);
  SECTION("it is accused") {
    reader.answer(1, reader.list, true);
    REQUIRE(reader.world.accused.size() == 1);
    CHECK(reader.world.accused[0].replica == 2);
    CHECK(reader.world.confirmations.empty());
  }
  SECTION("fewer may have been led by a faulty one") {
    reader.answer(1, reader.list, false);
    CHECK(reader.world.accused.empty());
  }
  SECTION("another list by now") {
    reader.answer(1, list_of('a', 'x'), true);
    CHECK(reader.world.accused.empty());
  }
}

TEST_CASE("The group is asked about the blocks of one origin within the budget of confirmations") {
  Reader reader;
  reader.world.now += seconds(100);
  for (std::uint32_t i = 0; i < Accusations::kConfirmationsAtOnce + 3; ++i)
    reader.refute();
  CHECK(reader.world.calls.size() == Accusations::kConfirmationsAtOnce);
  CHECK(reader.world.noise() == 3);
  reader.world.now += Accusations::kConfirmationInterval;
  reader.refute();
  CHECK(reader.world.calls.size() == Accusations::kConfirmationsAtOnce + 1);
}

}  // namespace prophecy::sketcher::shared_reads_test

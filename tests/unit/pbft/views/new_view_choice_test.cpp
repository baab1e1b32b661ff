#include "pbft/core/state/new_view_choice.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace prophecy::pbft::test {
namespace {

constexpr QuorumRule kRule = QuorumRule::standard(1);

Digest batch(std::uint8_t name) {
  Digest digest{};
  digest[0] = name;
  return digest;
}

ViewChangeMessage message(NodeId replica, std::vector<BatchRecord> prepared,
                          std::vector<BatchRecord> pre_prepared, std::uint64_t stable = 0) {
  ViewChangeMessage made;
  made.replica = replica;
  made.view = 9;
  made.stable = stable;
  made.prepared = std::move(prepared);
  made.pre_prepared = std::move(pre_prepared);
  return made;
}

std::vector<Digest> chosen(const std::vector<ViewChangeMessage>& messages) {
  const auto choice = choose(messages, kRule);
  REQUIRE(choice);
  return choice->batches;
}

}  // namespace

TEST_CASE("A view in which nothing was prepared leaves nothing to the next, but its checkpoint") {
  const auto choice = choose(
      {message(0, {}, {{6, 0, batch('a')}}, 5), message(1, {}, {}, 8), message(2, {}, {}, 0)},
      kRule);
  REQUIRE(choice);
  CHECK(choice->stable == 8);
  CHECK(choice->batches.empty());
}

TEST_CASE("What one has prepared and f+1 have pre-prepared is kept") {
  const BatchRecord a{1, 0, batch('a')};
  CHECK(chosen({message(0, {a}, {a}), message(1, {}, {a}), message(2, {}, {})}) ==
        std::vector{a.batch});
}

TEST_CASE("What only a liar vouches for does not win, and holds nobody up for ever") {
  const BatchRecord lie{1, 3, batch('x')};
  const auto liar = message(0, {lie}, {lie});
  const auto honest = [](NodeId replica) { return message(replica, {}, {}); };
  CHECK_FALSE(choose({liar, honest(1), honest(2)}, kRule));  // it might be true as yet
  CHECK(chosen({liar, honest(1), honest(2), honest(3)}).empty());
}

TEST_CASE("Of two batches at a number the one prepared in the newer view is kept") {
  const BatchRecord older{1, 0, batch('a')};
  const BatchRecord newer{1, 2, batch('b')};
  CHECK(chosen({message(0, {older}, {older}), message(1, {newer}, {newer}),
                message(2, {}, {older, newer})}) == std::vector{newer.batch});
}

TEST_CASE("Gaps are filled with empty batches, and none follows the last batch") {
  const BatchRecord a{3, 0, batch('a')};
  const BatchRecord proposed{5, 0, batch('b')};
  const auto has = [&](NodeId replica) { return message(replica, {a}, {a, proposed}); };
  CHECK(chosen({has(0), has(1), has(2)}) == std::vector{empty_batch(), empty_batch(), a.batch});
}

TEST_CASE("An empty batch that may have been committed is kept, also at the end") {
  const BatchRecord empty{1, 1, empty_batch()};
  const auto has = [&](NodeId replica) { return message(replica, {empty}, {empty}); };
  CHECK(chosen({has(0), has(1), has(2)}) == std::vector{empty_batch()});
}

// Castro's thesis, section 2.3.5: a batch that was committed survives every choice, whoever is
// asked and whatever f liars say.
TEST_CASE("A committed batch is never given up") {
  std::mt19937_64 random(GENERATE(7));
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::size_t decided = 0;
  for (int run = 0; run < 20000; ++run) {
    const std::uint64_t committed_view = below(4);
    const BatchRecord committed{1, committed_view, batch('c')};
    // 2f+1 replicas have prepared it, one of which may be the liar; they may have prepared it again
    // later. Of the others, each may have pre-prepared or prepared something else before.
    const NodeId liar = static_cast<NodeId>(below(4));
    const NodeId outsider = static_cast<NodeId>(below(4));
    std::vector<ViewChangeMessage> messages;
    for (NodeId replica = 0; replica < 4; ++replica) {
      const BatchRecord old{1, committed_view == 0 ? 0 : below(committed_view), batch('o')};
      const bool had_old = committed_view > 0 && below(2) == 0;
      if (replica == liar) {
        const BatchRecord lie{1, below(9), batch(below(2) == 0 ? 'x' : 'o')};
        const bool silent = below(3) == 0;
        messages.push_back(silent ? message(replica, {}, {}) : message(replica, {lie}, {lie}));
      } else if (replica == outsider) {
        messages.push_back(had_old ? message(replica, {old}, {old}) : message(replica, {}, {}));
      } else {
        std::vector<BatchRecord> pre_prepared{committed};
        if (had_old) pre_prepared.push_back(old);
        messages.push_back(message(replica, {committed}, pre_prepared));
      }
    }
    std::shuffle(messages.begin(), messages.end(), random);
    if (below(2) == 0) messages.pop_back();
    const auto choice = choose(messages, kRule);
    if (!choice) continue;
    ++decided;
    REQUIRE(choice->batches == std::vector{committed.batch});
  }
  CHECK(decided > 10000);
}

}  // namespace prophecy::pbft::test

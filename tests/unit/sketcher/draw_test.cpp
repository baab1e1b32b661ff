// Who is asked a fast read: drawn uniformly, by OpenSSL's generator and by nothing else (paper,
// section 4.2: what limits staleness is that nobody can foretell or steer the draw).
//
// RAND_bytes() of this program stands in front of OpenSSL's. Hence it is a program of its own.
#include "replica_client/core/health/draw.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>

#include <catch2/catch.hpp>
#include <openssl/rand.h>

#include "sketcher/reads/worker_context.hpp"

namespace prophecy::sketcher {
namespace {

struct Generator {
  std::optional<std::uint8_t> scripted;  // every byte, in place of random ones
  std::size_t bytes = 0;                 // that were asked for
};
Generator generator;

}  // namespace
}  // namespace prophecy::sketcher

extern "C" int RAND_bytes(unsigned char* out, int size) {
  using prophecy::sketcher::generator;
  generator.bytes += static_cast<std::size_t>(size);
  if (!generator.scripted) return RAND_priv_bytes(out, size);
  std::memset(out, *generator.scripted, static_cast<std::size_t>(size));
  return 1;
}

namespace prophecy::sketcher {
namespace {

using replica_client::ReplicaSet;

// All that a worker draws replicas with.
static_assert(std::is_same_v<decltype(RandomDice::random), SecureRandom>);
static_assert(std::is_same_v<decltype(WorkerContext::dice), RandomDice&>);
static_assert(std::is_same_v<decltype(GroupEnvironment::dice), Dice&>);

constexpr int kDraws = 100000;

NodeId draw(SecureRandom& random, ReplicaSet from) {
  return replica_client::draw(from, [&](std::uint32_t bound) { return random.below(bound); });
}

// By Hoeffding's inequality, a count of kDraws that is farther from its mean comes once in 10^9.
bool is_plausible(int count, double share) {
  const double distance_max = std::sqrt(kDraws * std::log(2e9) / 2);
  return std::abs(count - kDraws * share) < distance_max;
}

}  // namespace

TEST_CASE("The draw follows from the cryptographic generator's bytes") {
  for (const auto& [byte, drawn] :
       {std::pair<std::uint8_t, NodeId>{0x00, 0}, {0x40, 1}, {0x80, 2}, {0xc0, 3}, {0xff, 3}}) {
    generator = {.scripted = byte};
    SecureRandom random;
    for (int i = 0; i < 1000; ++i)
      REQUIRE(draw(random, 0b1111) == drawn);
    CHECK(generator.bytes >= 4 * 1000);
  }
  generator = {};
}

TEST_CASE("Each replica of a set is drawn as often as any other") {
  SecureRandom random;
  for (ReplicaSet from = 1; from < 1 << 7; ++from) {
    std::array<int, 7> counts{};
    for (int i = 0; i < kDraws; ++i)
      ++counts[draw(random, from)];
    for (NodeId replica = 0; replica < counts.size(); ++replica) {
      const bool may_be_drawn = (from >> replica & 1) != 0;
      INFO("set " << from << " replica " << replica << " count " << counts[replica]);
      CHECK(is_plausible(counts[replica], may_be_drawn ? 1.0 / std::popcount(from) : 0));
      CHECK((may_be_drawn || counts[replica] == 0));
    }
  }
}

TEST_CASE("A draw says nothing about the next one") {
  SecureRandom random;
  std::array<std::array<int, 4>, 4> counts{};
  for (int i = 0; i < kDraws; ++i) {
    const NodeId first = draw(random, 0b1111);
    ++counts[first][draw(random, 0b1111)];
  }
  for (const auto& row : counts) {
    for (const int count : row)
      CHECK(is_plausible(count, 1.0 / 16));
  }
}

}  // namespace prophecy::sketcher

// The one source of chance in a simulated run: the same seed, the same run, on every machine.
#pragma once

#include <cstdint>

namespace prophecy::simulation {

// SplitMix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // A stream of its own for each purpose, so that what is left out of a run shifts no other draw.
  Random(std::uint64_t seed, std::uint64_t purpose)
      : state_(Random(seed).next() ^ Random(~purpose).next()) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // In [0, bound). The bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  // In [low, high].
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  // True in `percent` of a hundred cases.
  bool chance(std::uint64_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

// What the streams of a run are for. Those of ingredients and nodes are told apart by adding the
// ingredient's number or the node's id.
constexpr std::uint64_t kPurposeNetwork = 1;
constexpr std::uint64_t kPurposeMachines = 2;
constexpr std::uint64_t kPurposeScene = 3;
constexpr std::uint64_t kPurposeRefusals = 4;
constexpr std::uint64_t kPurposeFairness = 5;
constexpr std::uint64_t kPurposeNewKeys = 6;
constexpr std::uint64_t kPurposeTurns = 7;
constexpr std::uint64_t kPurposeGreed = 8;
constexpr std::uint64_t kPurposeWeights = 9;
constexpr std::uint64_t kPurposePages = 10;
constexpr std::uint64_t kPurposeHalts = 11;
constexpr std::uint64_t kPurposeAbsence = 12;  // and the next
constexpr std::uint64_t kPurposeLinks = 14;
constexpr std::uint64_t kPurposeWideLinks = 15;
constexpr std::uint64_t kPurposeAccomplices = 16;
constexpr std::uint64_t kPurposeNode = 1 << 20;
constexpr std::uint64_t kPurposeIngredient = 2 << 20;
constexpr std::uint64_t kPurposeKeys = 3 << 20;
constexpr std::uint64_t kPurposeNoise = 4 << 20;
constexpr std::uint64_t kPurposeDisk = 5 << 20;
constexpr std::uint64_t kPurposeOrigins = 6 << 20;

}  // namespace prophecy::simulation

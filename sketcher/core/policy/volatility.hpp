// How often reads of one request meet a transition: the agreed answer differs from what the history
// held. A request that does so nearly each time is better sent to the group at once (paper, 3.3.1,
// at its end: "dynamically blacklist requests that exhibit a high frequency of transitions").
//
// When that is, follows from the paper's section 3.3.2. Let n origins take part in a replicated
// read, c be the work of one origin for a read, and t the probability of a transition. Trying one
// origin first costs c + t * n * c (or more, with what agreement costs); asking the group at once
// costs n * c. The former is cheaper as long as t < 1 - 1/n: 3/4 for four origins.
//
// The estimate is the share of the last reads that met a transition: a mean of all reads at first,
// and exponentially decaying by events from kWeightMax of them on. The weight of what is known, in
// reads, halves with time, so that what has not been read for long begins anew. The share is that
// of what would have been a failed fast read, whether or not one was made: being blacklisted does
// not change what is measured, so it cannot go back and forth by itself.
//
// A value of 8 bytes; deterministic. Time comes in as seconds of any clock that does not go back.
#pragma once

#include <cstdint>

namespace prophecy::sketcher {

struct VolatilityLimits {
  float from = 0.75F;  // such a share blacklists; above 1: none does

  // A share below this one ends it. Close together, the two cost next to nothing where transitions
  // are somewhat rarer than `from`; so far apart, changes are still rare.
  [[nodiscard]] float until() const { return from * 0.8F; }

  [[nodiscard]] static VolatilityLimits of_group(std::uint32_t origins) {
    return {1.0F - 1.0F / static_cast<float>(origins)};
  }
  [[nodiscard]] static VolatilityLimits never() { return {2.0F}; }
};

class Volatility {
 public:
  static constexpr float kReadsMin = 16;   // before that nothing is blacklisted
  static constexpr float kWeightMax = 32;  // reads that the estimate rests on
  static constexpr float kWeightKept = 8;  // less does not keep anything blacklisted
  static constexpr std::uint32_t kHalfLifeSeconds = 600;

  enum class Change : std::uint8_t { none, blacklisted, released };

  // So much time has gone by.
  void age(std::uint32_t elapsed_seconds);
  // One read was compared with the history. Without `may_enter` it does not become blacklisted.
  Change on_read(bool transition, const VolatilityLimits& limits, bool may_enter);
  void release() { blacklisted_ = false; }

  [[nodiscard]] bool blacklisted() const { return blacklisted_; }
  // So long after it was last aged.
  [[nodiscard]] bool blacklists(std::uint32_t elapsed_seconds) const {
    return blacklisted_ && (elapsed_seconds == 0 || weight_after(elapsed_seconds) >= kWeightKept);
  }
  [[nodiscard]] float share() const { return share_; }
  [[nodiscard]] float weight_after(std::uint32_t elapsed_seconds) const;

  // In one word of shared memory. Zero is the beginning. Any word unpacks to values in range.
  [[nodiscard]] std::uint64_t packed() const;
  [[nodiscard]] static Volatility unpack(std::uint64_t word);

 private:
  float share_ = 0;
  float weight_ = 0;
  bool blacklisted_ = false;
};

}  // namespace prophecy::sketcher

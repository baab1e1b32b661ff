// Which frames of a run are lies, and how many of each kind have come to where they are meant to
// do harm: a lie that is dropped at the door tests the door alone.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "pbft/wire/frame.hpp"
#include "simulation/ingredient.hpp"

namespace prophecy::simulation {

using LieCounts = std::array<std::uint64_t, kBehaviourKinds>;

class Lies {
 public:
  // Nothing is noted of behaviours that are no lies.
  void note(const pbft::Frame& frame, BehaviourKind kind);
  // Nothing, too, when it is long ago.
  [[nodiscard]] std::optional<BehaviourKind> kind_of(const pbft::Frame& frame) const;

  void count(BehaviourKind kind) { ++reached_.at(static_cast<std::size_t>(kind)); }
  [[nodiscard]] const LieCounts& reached() const { return reached_; }

 private:
  static constexpr std::size_t kRemembered = 4096;

  std::deque<pbft::Frame> newest_;  // keeps their addresses from being used again
  std::unordered_map<const Bytes*, BehaviourKind> kinds_;
  LieCounts reached_{};
};

}  // namespace prophecy::simulation

// Which replica is asked for the result itself: each in turn, but one that let a call down is
// passed over for a while, so that a dead replica does not delay every n-th call.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"

namespace prophecy::pbft {

class ReplierChoice {
 public:
  explicit ReplierChoice(std::uint32_t replicas) : passed_over_(replicas, 0) {}

  NodeId next() {
    for (std::size_t tries = 0; tries < passed_over_.size(); ++tries) {
      advance();
      if (passed_over_[last_] == 0) return last_;
      --passed_over_[last_];
    }
    advance();
    return last_;
  }
  void let_down(NodeId replica) { passed_over_[replica] = kTurnsPassedOver; }
  void delivered(NodeId replica) { passed_over_[replica] = 0; }

 private:
  static constexpr std::uint32_t kTurnsPassedOver = 256;

  void advance() { last_ = static_cast<NodeId>((last_ + 1) % passed_over_.size()); }

  std::vector<std::uint32_t> passed_over_;  // turns left
  NodeId last_ = 0;
};

}  // namespace prophecy::pbft

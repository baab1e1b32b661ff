// What replaces one frame by another, and sends both the lie and the truth at times.
#pragma once

#include "simulation/behaviours/behaviour.hpp"

namespace prophecy::simulation {

class Lying : public Behaviour {
 public:
  Lying(Villain villain, std::uint64_t percent) : villain_(villain), percent_(percent) {}

  void send(const Sending& honest, std::vector<Sending>& out) override {
    const pbft::Frame lie =
        villain_.random.chance(percent_) ? lie_about(*honest.what.frame) : nullptr;
    if (lie == nullptr || villain_.random.chance(25)) out.push_back(honest);
    if (lie == nullptr) return;
    out.push_back(honest);
    out.back().what.frame = lie;
  }

 protected:
  // Null when it has nothing to say about this frame.
  [[nodiscard]] virtual pbft::Frame lie_about(const Bytes& frame) = 0;

  Villain villain_;

 private:
  std::uint64_t percent_;
};

}  // namespace prophecy::simulation

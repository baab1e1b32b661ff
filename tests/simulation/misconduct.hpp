// What a scenario has one replica do wrong, and when.
#pragma once

#include <memory>
#include <vector>

#include "pbft/auth/key_ring.hpp"
#include "simulation/behaviours/behaviour.hpp"
#include "simulation/lies.hpp"
#include "simulation/scenario.hpp"

namespace prophecy::simulation {

class Misconduct {
 public:
  Misconduct(const Scenario& scenario, const pbft::KeyRing& keys, Lies& lies);

  // The replica has nothing to do wrong, at any time.
  [[nodiscard]] bool is_none() const { return parts_.empty(); }
  // From now on what belongs to the second turn may happen.
  void begin_second_turn() { turn_ = 2; }
  // False when the replica does not get to see the frame.
  bool receive(const pbft::Frame& frame, TimePoint now);
  // What is sent in place of an honest frame; the frame itself as a rule.
  [[nodiscard]] std::vector<Sending> send(const pbft::Outgoing& honest, TimePoint now);

 private:
  struct Part {
    Ingredient ingredient;
    std::unique_ptr<Behaviour> behaviour;
  };
  void say_in_its_place(const Part& part, const Sending& honest, std::vector<Sending>& out);

  [[nodiscard]] bool is_active(const Part& part, TimePoint now) const {
    return part.ingredient.turn <= turn_ && part.ingredient.is_active(now);
  }

  std::vector<Part> parts_;
  const pbft::KeyRing& keys_;
  std::uint32_t turn_ = 1;
  Lies& lies_;
};

}  // namespace prophecy::simulation

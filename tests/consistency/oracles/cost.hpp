// `Cost` is the oracle that compares a run with the table of bounds (docs/reads.md, "Bounds").
#pragma once

#include <string>
#include <string_view>

#include "consistency/bounds.hpp"
#include "consistency/oracles/breach.hpp"

namespace prophecy::consistency {

class Cost {
 public:
  Cost(const Bounds& bounds, Breach& breach) : bounds_(bounds), breach_(breach) {}

  // `number` is at most the bound of that name, `times` over.
  void check(std::string_view bound, std::size_t number, std::size_t times = 1) {
    if (number <= times * bounds_.at(bound)) return;
    breach_.note("cost: " + std::string(bound) + " is " + std::to_string(number) +
                 (times > 1 ? ", for " + std::to_string(times) : ""));
  }
  [[nodiscard]] std::size_t bound(std::string_view name) const { return bounds_.at(name); }

 private:
  const Bounds& bounds_;
  Breach& breach_;
};

}  // namespace prophecy::consistency

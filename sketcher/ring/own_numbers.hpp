// `OwnNumbers` are the numbers that a member gives to answers where members count for themselves
// (dht/core/handed_numbers.hpp): with several groups, or with one that has no order.
//
// A view of shared memory, copied freely. Safe beside workers that number answers, and when a
// process is killed at any instruction.
#pragma once

#include <vector>

#include "sketcher/config/settings.hpp"
#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

class OwnNumbers {
 public:
  // Between what was given before a barrier and the barrier. What is handed over lies there, above
  // the floors that an earlier ownership of ours has left, unless it is older than so many numbers.
  static constexpr Sigma kRoom = Sigma{1} << 36;

  OwnNumbers(const Settings& settings, const SharedState& shared);

  // Of all groups.
  [[nodiscard]] Sigma newest() const;
  // A barrier: beyond all numbers that were given before. An answer that is asked for from now on
  // gets one beyond the barrier; of an ordered group, an answer that was asked for before is
  // recorded as none. 0: the numbers are used up.
  [[nodiscard]] Sigma begin_anew() const;

 private:
  struct Group {
    GroupNumbers* numbers = nullptr;
    bool has_order = false;
  };
  std::vector<Group> groups_;
};

}  // namespace prophecy::sketcher

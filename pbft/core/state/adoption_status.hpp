// An operator's orders, and the answers, when a group is to adopt the present state of its services
// (pbft/core/recovery/adoption.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

enum class AdoptionState : std::uint8_t {
  none,
  waiting,  // until nothing is under way here
  looking,  // at the present state
  told,
  agreed,   // the operator has
  adopted,  // and no checkpoint yet
};
[[nodiscard]] std::string_view to_string(AdoptionState state);

struct AdoptionOrder {
  Digest state{};
  std::uint64_t at = 0;        // batches up to this number count as executed
  std::vector<NodeId> except;  // replicas that may say something else

  [[nodiscard]] bool says_the_same(const AdoptionOrder& other) const {
    return state == other.state && at == other.at;
  }
};

struct AdoptionStatus {
  enum class Says : std::uint8_t {
    nothing,    // for some seconds
    has_state,  // of its own, which the group can be repaired with
    no_state,   // and was not asked to look at the present one
    tells,
    agrees,
  };
  struct Member {
    NodeId replica = 0;
    Says says = Says::nothing;
    Digest state{};
    std::uint64_t at = 0;  // tells: it may hold the effects of batches up to here
  };

  AdoptionState state = AdoptionState::none;
  std::string problem;          // why it ended the last time; empty: it did not, or by success
  std::uint64_t at = 0;         // the least number for all that tell this replica's state
  std::uint32_t needed = 0;     // 2f+1
  std::vector<Member> members;  // all of the group, by id
};
[[nodiscard]] std::string_view to_string(AdoptionStatus::Says says);

}  // namespace prophecy::pbft

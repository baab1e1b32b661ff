#include "sketcher/ring/own_numbers.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

// What is left belongs to the groups' own numbers, which an order's base is added to.
constexpr Sigma kUsedUp = kSigmaMax / 4;

}  // namespace

OwnNumbers::OwnNumbers(const Settings& settings, const SharedState& shared) {
  for (std::uint32_t i = 0; i < settings.groups.size(); ++i)
    groups_.push_back({.numbers = shared.group(i).numbers,
                       .has_order = settings.groups[i].kind == GroupKind::pbft});
}

Sigma OwnNumbers::newest() const {
  Sigma newest = 0;
  for (const Group& group : groups_)
    newest = std::max({newest, group.numbers->order.newest(), group.numbers->votes.newest()});
  return newest;
}

Sigma OwnNumbers::begin_anew() const {
  const Sigma before = newest();
  if (before > kUsedUp) return 0;
  const Sigma barrier = before + kRoom;
  for (const Group& group : groups_) {
    if (group.has_order) {
      group.numbers->order.begin_beyond(barrier);
    } else if (!group.numbers->votes.skip_to(barrier, barrier)) {
      return 0;  // workers have drawn as many numbers as there was room
    }
  }
  return barrier;
}

}  // namespace prophecy::sketcher

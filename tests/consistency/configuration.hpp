// One way in which a history may have gone so far: the state that the search for instants goes
// through (delay_once.hpp). Plain values; equal ones have the same future.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <vector>

#include "consistency/history.hpp"

namespace prophecy::consistency {

// An operation that is under way.
struct Slot {
  const Operation* operation = nullptr;  // none: the slot is free
  bool is_acceptable = false;            // from now on
};
using Slots = std::vector<Slot>;

class Configuration {
 public:
  static constexpr Value kNone = std::numeric_limits<Value>::max();

  auto operator<=>(const Configuration&) const = default;

  // What has to happen at once, because it can only help, is part of each of these.
  void on_invoked(const Slots& slots, std::size_t slot);
  // The operation in a slot has become acceptable.
  void on_acceptable(const Slots& slots) { settle(slots); }
  // The operation is not looked at any more.
  void on_answered(const Slots& slots, std::size_t slot);

  [[nodiscard]] bool is_done(std::size_t slot) const { return states_[slot] == kDone; }
  // The choices that are open: what each leads to. `is_wanted(value)`: somebody will yet read it.
  template <class Wanted>
  [[nodiscard]] std::vector<Configuration> choices(const Slots& slots, Wanted is_wanted) const;

  [[nodiscard]] Value current() const { return current_; }
  [[nodiscard]] Value accepted() const { return accepted_; }

 private:
  using State = Value;  // one of these, or the value that the read has looked at
  static constexpr State kFree = kNone;
  static constexpr State kWaiting = kNone - 1;
  static constexpr State kDone = kNone - 2;

  // By the end of a write that was never answered nobody can have been told of it.
  [[nodiscard]] static bool is_accepted_later(const Operation& write) {
    return write.kind == Kind::publish && write.answered != kNever;
  }
  [[nodiscard]] static bool has_looked(State state) { return state < kDone; }
  // A read that has looked at the value is acceptable.
  [[nodiscard]] bool may_accept(const Slots& slots, Value value) const;
  void look(std::size_t slot);
  void write(const Slots& slots, std::size_t slot);
  void accept(const Slots& slots, Value value);
  void settle(const Slots& slots);
  void settle_slot(const Slot& slot, std::size_t number);

  Value current_ = kInitial;
  Value accepted_ = kNone;     // the newest that an accepted read has returned
  std::vector<Value> newer_;   // than that one: what reads have looked at, oldest first
  std::vector<State> states_;  // by slot
};

template <class Wanted>
std::vector<Configuration> Configuration::choices(const Slots& slots, Wanted is_wanted) const {
  std::vector<Configuration> found;
  bool is_open_read_tried = false;  // those that are never answered are all alike
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot] != kWaiting) continue;
    const Operation& operation = *slots[slot].operation;
    if (is_write(operation.kind)) {
      found.push_back(*this);
      found.back().write(slots, slot);
    } else if (!operation.value && current_ != accepted_ && is_wanted(current_)) {
      if (operation.answered == kNever && std::exchange(is_open_read_tried, true)) continue;
      found.push_back(*this);
      found.back().look(slot);
    }
  }
  for (const Value value : newer_) {
    if (!may_accept(slots, value)) continue;
    found.push_back(*this);
    found.back().accept(slots, value);
  }
  return found;
}

}  // namespace prophecy::consistency

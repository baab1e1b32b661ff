#include "consistency/configuration.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::consistency {

void Configuration::on_invoked(const Slots& slots, std::size_t slot) {
  if (states_.size() < slots.size()) states_.resize(slots.size(), kFree);
  ASSERT(states_[slot] == kFree);
  states_[slot] = kWaiting;
  settle(slots);
}

void Configuration::on_answered(const Slots& slots, std::size_t slot) {
  states_[slot] = kFree;
  settle(slots);
}

bool Configuration::may_accept(const Slots& slots, Value value) const {
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot] == value && slots[slot].is_acceptable) return true;
  }
  return false;
}

void Configuration::look(std::size_t slot) {
  states_[slot] = current_;
  if (newer_.empty() || newer_.back() != current_) newer_.push_back(current_);
}

void Configuration::write(const Slots& slots, std::size_t slot) {
  const Operation& operation = *slots[slot].operation;
  current_ = *operation.value;
  states_[slot] = kDone;
  if (is_accepted_later(operation)) look(slot);
  settle(slots);
}

void Configuration::accept(const Slots& slots, Value value) {
  accepted_ = value;
  newer_.erase(newer_.begin(), std::find(newer_.begin(), newer_.end(), value) + 1);
  settle(slots);
}

void Configuration::settle(const Slots& slots) {
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    if (states_[slot] != kFree && states_[slot] != kDone) settle_slot(slots[slot], slot);
  }
  std::erase_if(newer_, [&](Value value) {
    return std::find(states_.begin(), states_.end(), value) == states_.end();
  });
}

// A read that has looked at what is accepted by now, or at something older, changes nothing any
// more, whenever it is accepted. Neither does one that returns what is accepted already: that
// happens here, if it may. One that looks loses nothing by it.
void Configuration::settle_slot(const Slot& slot, std::size_t number) {
  const Operation& operation = *slot.operation;
  State& state = states_[number];
  if (has_looked(state) && std::find(newer_.begin(), newer_.end(), state) == newer_.end()) {
    state = kDone;
  }
  const bool is_unwritten = is_write(operation.kind) && state == kWaiting;
  if (!operation.value || is_unwritten) return;
  if (operation.kind == Kind::audit) {
    if (operation.value == current_) state = kDone;
  } else if (operation.value == accepted_ && slot.is_acceptable) {
    state = kDone;
  } else if (state == kWaiting && operation.value == current_) {
    if (current_ == accepted_) {
      state = kDone;
    } else {
      look(number);
    }
  }
}

}  // namespace prophecy::consistency

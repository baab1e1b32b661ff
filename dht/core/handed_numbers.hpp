// Numbers of entries and floors on their way to another member, where each member counts for
// itself: several groups number the answers in one table, or a group has no order. (The numbers of
// the only group, with an order, are the same at all members, and are handed over as they are.)
//
// The giver says how far below its newest number each of them is, its *age*. The taker counts that
// back from its barrier, a number beyond all that it had given before. So entries and floors of one
// giver keep their order among each other, and lie below all that the taker records.
//
// The giver counts on while it hands a partition over. A number that is handed later is so the
// older by that: floors, which go first, never sink below an entry that they make out of date.
#pragma once

#include <algorithm>

#include "dht/core/ownership.hpp"

namespace prophecy::dht {

// What stands for the age 0.
constexpr OrderNumber kHandedNewest = OrderNumber{1} << 61;

// `newest` is read after `number`. 0: it is too old for any use, or none.
[[nodiscard]] constexpr OrderNumber handed_number(OrderNumber number, OrderNumber newest) {
  const OrderNumber age = newest - std::min(newest, number);
  return number == 0 || age >= kHandedNewest ? 0 : kHandedNewest - age;
}

// At the taker. Requires handed <= kHandedNewest. 0: it lies before all that the taker can count.
[[nodiscard]] constexpr OrderNumber taken_number(OrderNumber handed, OrderNumber barrier) {
  const OrderNumber age = kHandedNewest - handed;
  return barrier - std::min(barrier, age);
}

}  // namespace prophecy::dht

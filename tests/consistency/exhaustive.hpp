// The definition in delay_once.hpp, tried out literally: every order of all instants. Slow and
// simple, for histories of a few operations; what decide() says is compared with it.
#pragma once

#include "consistency/history.hpp"

namespace prophecy::consistency {

enum class Instants : std::uint8_t {
  two,  // of a read: it looks, and is accepted later
  one,  // it is accepted where it looks: a stricter reading of the paper
};

[[nodiscard]] bool holds_by_trying_all(const History& history, Instants instants = Instants::two);

}  // namespace prophecy::consistency

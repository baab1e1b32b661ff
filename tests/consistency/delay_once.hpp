// Decides whether a history of one key is delay-once linearizable (Prophecy paper, section 4.1).
//
// The definition. Each write takes effect at one instant between its invocation and its answer; in
// the order of these instants the writes make the states 0, 1, 2, ... A read has two such instants:
// it *looks*, and later, or at once, it is *accepted*. Let y be the newest state that a read
// accepted before it has returned, if there is one, and z the state that it saw when it looked.
// A read that returned x is right if x = y or x = z: the paper's delay-once property. A publish is
// a write that is accepted as a read of its own state would be, before it is answered: y is that
// state then, if none newer was accepted. So no read that is invoked later returns an older one. An
// audit has one instant, and returns the state there. A write that was never answered has its
// instant at any time after its invocation, or has none; of a publish, too, since nobody was told
// that it has succeeded. A read whose answer is unknown may have returned anything that a right one
// may have. Where it is known since when a read may have been accepted, it is accepted then or
// later. docs/consistency.md says why reads have two instants.
//
// The search is that of Wing and Gong (1993) for instants that make the history right, in Lowe's
// form (Testing for linearizability, 2017): in the order of time, instants as late as they can be,
// and each configuration that was met is remembered and not gone through again. Keys are decided
// one by one: the definition is linearizability against an object (a register that knows what was
// last accepted, with looking and accepting as operations), and that is local (Herlihy and Wing).
//
// It decides exactly that:
//  - An instant may be moved behind others' invocations to just before the next answer of anyone,
//    with those between kept in order: nothing sees the difference. So instants need be chosen only
//    when an operation is answered, and only as many as it takes to complete this one.
//  - Then all choices are tried: each waiting write, each value that a read has looked at and that
//    may be accepted, each look of a read whose answer is unknown.
//  - Three things are no choices, since they can only help. A read looks as soon as it sees its own
//    value: it need not make use of it. It is accepted as soon as the newest accepted state is its
//    own, or newer than what it has looked at: y does not change. An audit likewise. So is a
//    publish that has taken effect: by then it is what a read is that has looked at its state.
//  - Of writes that were never answered only those that somebody reads are considered: another one
//    can be left out of any choice of instants.
#pragma once

#include <cstddef>
#include <string>

#include "consistency/history.hpp"

namespace prophecy::consistency {

enum class Verdict : std::uint8_t {
  holds,
  violated,
  undecided,  // too many operations at once
};

struct Decision {
  Verdict verdict = Verdict::holds;
  std::string explanation;  // unless it holds; some lines for people
};

constexpr std::size_t kConfigurationsMax = 1 << 20;  // for one answer

[[nodiscard]] Decision decide(const History& history,
                              std::size_t configurations_max = kConfigurationsMax);

}  // namespace prophecy::consistency

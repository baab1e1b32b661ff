// `ReadAction` is one thing that a read's core asks of its shell, as a value. The shell carries
// actions out in their order; texts and answers that an action needs lie in the core's object that
// handed it out, and stay there until the shell reports the next event.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"

namespace prophecy::sketcher {

struct ReadAction {
  enum class Kind : std::uint8_t {
    // An origin's exchange; `slot` tells the two of a hedged read apart.
    ask_origin,  // `replica`, with ReadMachine::wire() and asked()
    // Its events come no more. The text that it was asked with may be gone by now: nothing of it is
    // sent between the event that brought this action and the action.
    cancel_origin,
    extend_origin,  // the time for its answer begins anew
    pause_origin,
    resume_origin,
    // A call to the group that is the request's own.
    ask_group,
    cancel_group,
    // The owner of each of ReadMachine::owed_floors() is asked to raise it: on_floor_raised().
    // After
    // a short time, which the shell chooses, on_floor_time().
    raise_floors,
    cancel_floors,
    // Timers, each of which ends in an event.
    arm_deadline,
    disarm_deadline,
    arm_hedge,  // after `delay`
    disarm_hedge,
    arm_untaken,
    disarm_untaken,
    // The client.
    // ReadMachine::answer(); `whole`: it is verified. `storage` is null when it is the group's own;
    // else it holds the body of one origin's, and may be swapped out.
    deliver,
    refuse,  // ReadMachine::refusal()
    move,    // the request has no answer here: the partition's owner is asked, from the beginning
    ask_client,  // whether it has left, and may take blocks of `size` bytes: on_client()
    begin_body,  // the head of ReadMachine::answer()
    send_body,   // `size` bytes from `begin` on of `storage`, which may be swapped out: on_sent()
    end_body,    // `whole`: as it was announced; else it is cut off
  };

  Kind kind{};
  std::uint8_t slot = 0;
  bool whole = false;
  NodeId replica = 0;
  std::string* storage = nullptr;
  std::size_t begin = 0;
  std::size_t size = 0;
  Duration delay{};
};

// A short queue, first in, first out. One event causes few actions, whatever a client or an origin
// does: `kMax` bounds them, and an action beyond it is a defect.
class ReadActions {
 public:
  static constexpr std::size_t kMax = 8;

  void add(const ReadAction& action) {
    if (begin_ == end_) begin_ = end_ = 0;
    ASSERT(end_ < kMax);
    actions_[end_++] = action;
  }
  void add(ReadAction::Kind kind, std::uint8_t slot = 0) { add({.kind = kind, .slot = slot}); }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] ReadAction take() {
    ASSERT(!empty());
    return actions_[begin_++];
  }

 private:
  std::array<ReadAction, kMax> actions_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace prophecy::sketcher

// One of the two directions of an open tunnel: what one side sends goes to the other as it is. What
// that one does not take is held, no more than was read at once, and nothing further is read until
// it has gone. States:
//
//   flowing --> ending --> over
//
// `ending`: the sender has ended in order, and the receiver is to be told behind the last byte.
// `over`: it was told, or one of the two is broken.
//
// Single-threaded, on the worker's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "transport/byte_stream.hpp"

namespace prophecy::sketcher {

class TunnelDirection {
 public:
  enum class State : std::uint8_t { flowing, ending, over };
  enum class Outcome : std::uint8_t {
    waits,            // for one of the two, or is over
    has_more,         // others have their turn
    ended,            // in order, and all is delivered: the receiver is to be told
    sender_broken,    // over; all that it has sent was delivered
    receiver_broken,  // over; what was held is dropped
  };
  struct Run {
    Outcome outcome = Outcome::waits;
    std::size_t read_bytes = 0;
    std::size_t delivered_bytes = 0;
  };

  // Goes out in front of all that is read from now on.
  void hold(std::string bytes);
  // What is held, as far as the receiver takes it. `done`: nothing is left.
  [[nodiscard]] transport::IoResult deliver(transport::ByteStream& to);
  // As far as both sides go.
  [[nodiscard]] Run run(transport::ByteStream& from, transport::ByteStream& to);
  // The receiver is told, or what is held is nobody's.
  void finish();

  [[nodiscard]] bool flows() const { return state_ == State::flowing; }
  [[nodiscard]] bool over() const { return state_ == State::over; }
  // In memory, be it delivered or not.
  [[nodiscard]] std::size_t held_bytes() const { return held_.empty() ? 0 : held_.capacity(); }

 private:
  void release();

  State state_ = State::flowing;
  std::string held_;
  std::size_t begin_ = 0;  // of what was not delivered
};

}  // namespace prophecy::sketcher

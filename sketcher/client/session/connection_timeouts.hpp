// `ConnectionTimeouts` are the queues that a worker's connections wait in, by what they wait for.
#pragma once

#include "base/assert.hpp"
#include "base/timeout_queue.hpp"
#include "sketcher/client/session/session.hpp"

namespace prophecy::sketcher {

struct ConnectionTimeouts {
  TimeoutQueue handshake;
  TimeoutQueue header;
  TimeoutQueue body;
  TimeoutQueue idle;
  TimeoutQueue send;
  TimeoutQueue linger;
  TimeoutQueue presence;  // between two looks for a client that has left
  TimeoutQueue tunnel_connect;
  TimeoutQueue tunnel_answer;       // until the origin has answered
  TimeoutQueue tunnel;              // without a byte in either direction
  TimeoutQueue tunnel_half_closed;  // likewise, once one side has ended its sending
  // The two parts of `idle` of a connection that speaks HTTP/1: its session is kept for the first
  // one alone. `rest` is as long as `idle`, and is armed for what is left of it: so those that rest
  // count as idle since the lull began. (Over HTTP/2 a session is kept, and packed after a lull;
  // the connection itself waits in `idle`.)
  TimeoutQueue lull{Duration{}};
  TimeoutQueue rest{Duration{}};
  Duration after_lull{};

  [[nodiscard]] TimeoutQueue& of(Wait what) {
    switch (what) {
      case Wait::header:
        return header;
      case Wait::body:
        return body;
      case Wait::idle:
        return idle;
      case Wait::send:
        return send;
      case Wait::presence:
        return presence;
    }
    UNREACHABLE();
  }
};

}  // namespace prophecy::sketcher

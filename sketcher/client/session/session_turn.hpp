// `read_turn` hands a session what its client has sent, until nothing is left, the session takes no
// more for now, or other connections have to have their turn.
#pragma once

#include <array>

#include "sketcher/client/session/session.hpp"

namespace prophecy::sketcher {

constexpr int kReadsOfTurn = 16;
// On the stack while it is filled and parsed: no connection holds one.
constexpr std::size_t kReadBytes = 64 << 10;

// `read(into, size)` reads from the client's stream.
template <class Read>
void read_turn(Session& session, SessionHost& host, TimePoint now, Read read) {
  std::array<char, kReadBytes> input;
  bool takes = session.begin_turn(now);
  for (int reads = 0; takes; ++reads) {
    if (reads == kReadsOfTurn) {
      host.call_again();
      break;
    }
    const transport::IoResult result = read(input.data(), input.size());
    if (result.status == transport::IoStatus::blocked) break;
    if (result.status != transport::IoStatus::done) {
      session.on_end();
      break;
    }
    takes = session.on_bytes({input.data(), result.size}, now);
  }
  session.end_turn();
}

}  // namespace prophecy::sketcher

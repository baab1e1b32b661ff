// `take_messages` reads what has come on the channel between the master and the ring's process: a
// socket that keeps messages apart (SOCK_SEQPACKET) and does not block.
#pragma once

#include <span>
#include <string_view>

#include <unistd.h>

namespace prophecy::sketcher {

// In one turn of the loop: messages may come as fast as they are read, and others wait for the
// loop.
constexpr std::size_t kMessagesInTurn = 64;

// Hands each message to `on_message`, kMessagesInTurn at most; the caller waits for the others as
// for new ones. False at the channel's end.
template <class OnMessage>
[[nodiscard]] bool take_messages(int channel, std::span<char> buffer, OnMessage on_message) {
  for (std::size_t taken = 0; taken < kMessagesInTurn; ++taken) {
    const ssize_t size = ::read(channel, buffer.data(), buffer.size());
    if (size <= 0) return size < 0;
    on_message(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  return true;
}

}  // namespace prophecy::sketcher

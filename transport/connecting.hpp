// Sockets of connections between our own processes on other machines.
#pragma once

#include <cstdint>

#include "base/ip_address.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::transport {

// Returns a non-blocking socket that is connecting. It holds no descriptor if the system refuses at
// once.
[[nodiscard]] UniqueFd start_connecting(const IpAddress& address, std::uint16_t port);

// Has the kernel end the connection within half a minute after the peer's machine has gone without
// a word, also while neither side has anything to send. Best effort: a socket that has just been
// reset fails soon enough by itself.
void notice_lost_peer(int socket);

}  // namespace prophecy::transport

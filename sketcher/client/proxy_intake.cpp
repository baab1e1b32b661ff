#include "sketcher/client/proxy_intake.hpp"

#include <array>
#include <cerrno>

#include <sys/socket.h>

namespace prophecy::sketcher {
namespace {

// As a rule the whole of a header, with some extensions.
constexpr std::size_t kLookBytes = 256;

ssize_t receive_some(int socket, char* into, std::size_t size, int flags) {
  for (;;) {
    const ssize_t received = ::recv(socket, into, size, flags);
    if (received >= 0 || errno != EINTR) return received;
  }
}

}  // namespace

ProxyIntake::State ProxyIntake::receive(int socket) {
  std::array<char, kLookBytes> input;
  for (;;) {
    const ssize_t seen = receive_some(socket, input.data(), input.size(), MSG_PEEK);
    if (seen < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::waiting;
    if (seen <= 0) return State::failed;
    const auto progress = parser_.feed({input.data(), static_cast<std::size_t>(seen)});
    if (progress.state == http::ParseState::failed) return State::failed;
    // It has been seen, so all of it is there.
    const ssize_t taken = receive_some(socket, input.data(), progress.consumed, 0);
    if (taken != static_cast<ssize_t>(progress.consumed)) return State::failed;
    if (progress.state == http::ParseState::complete) return State::done;
  }
}

std::string_view ProxyIntake::failure() const {
  return parser_.failure().empty() ? "connection ended inside its PROXY header" : parser_.failure();
}

}  // namespace prophecy::sketcher

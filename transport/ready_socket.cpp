#include "transport/ready_socket.hpp"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

namespace prophecy::transport {

void ReadySocket::note(std::uint32_t events) {
  if ((events & (EPOLLHUP | EPOLLERR)) != 0) broken_ = true;
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hangs_up_ = true;
  if ((events & EPOLLIN) != 0 || hangs_up_) readable_ = true;
  if ((events & EPOLLOUT) != 0 || broken_) writable_ = true;
}

IoResult ReadySocket::receive(char* into, std::size_t size) {
  while (readable_) {
    const ssize_t received = ::recv(fd_.get(), into, size, 0);
    if (received > 0) {
      // Less than asked for was all there was; what comes later is told anew (epoll(7)).
      if (static_cast<std::size_t>(received) < size && !hangs_up_) readable_ = false;
      return {IoStatus::done, static_cast<std::size_t>(received)};
    }
    if (received == 0) return {IoStatus::ended, 0};
    if (errno == EAGAIN) {
      readable_ = false;
    } else if (errno != EINTR) {
      return {IoStatus::failed, 0};
    }
  }
  return {};
}

IoResult ReadySocket::send(std::string_view first, std::string_view second) {
  iovec pieces[2] = {{const_cast<char*>(first.data()), first.size()},
                     {const_cast<char*>(second.data()), second.size()}};
  msghdr message{};
  message.msg_iov = first.empty() ? pieces + 1 : pieces;
  message.msg_iovlen = first.empty() || second.empty() ? 1 : 2;
  while (writable_) {
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      if (static_cast<std::size_t>(sent) < first.size() + second.size()) writable_ = false;
      return {IoStatus::done, static_cast<std::size_t>(sent)};
    }
    if (errno == EAGAIN) {
      writable_ = false;
    } else if (errno != EINTR) {
      return {IoStatus::failed, 0};
    }
  }
  return {};
}

void ReadySocket::shutdown_send() {
  ::shutdown(fd_.get(), SHUT_WR);
}

}  // namespace prophecy::transport

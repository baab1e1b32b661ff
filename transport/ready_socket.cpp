#include "transport/ready_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace prophecy::transport {
namespace {

// A copy of so little costs less than what the kernel does for a second piece.
constexpr std::size_t kCopiedBytesMax = 2048;

ssize_t send_bytes(int fd, const void* bytes, std::size_t size) {
  return ::send(fd, bytes, size, MSG_NOSIGNAL);
}

ssize_t send_pieces(int fd, std::span<const iovec> pieces, std::size_t size) {
  if (pieces.size() == 1) return send_bytes(fd, pieces[0].iov_base, size);
  if (size <= kCopiedBytesMax) {
    std::array<char, kCopiedBytesMax> bytes;
    char* end = bytes.data();
    for (const iovec& piece : pieces)
      end = std::copy_n(static_cast<const char*>(piece.iov_base), piece.iov_len, end);
    return send_bytes(fd, bytes.data(), size);
  }
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

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
  const iovec pieces[2] = {{const_cast<char*>(first.data()), first.size()},
                           {const_cast<char*>(second.data()), second.size()}};
  const std::span<const iovec> both(pieces);
  return send(first.empty() ? both.last(1) : both.first(second.empty() ? 1 : 2));
}

IoResult ReadySocket::send(std::span<const iovec> pieces) {
  std::size_t offered = 0;
  for (const iovec& piece : pieces)
    offered += piece.iov_len;
  while (writable_) {
    const ssize_t sent = send_pieces(fd_.get(), pieces, offered);
    if (sent >= 0) {
      if (static_cast<std::size_t>(sent) < offered) writable_ = false;
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

std::size_t ReadySocket::queued_bytes() const {
  int bytes = 0;
  return ::ioctl(fd_.get(), SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(bytes) : 0;
}

void ReadySocket::abort() {
  constexpr linger kAtOnce{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
  close();
}

void ReadySocket::shutdown_send() {
  ::shutdown(fd_.get(), SHUT_WR);
}

}  // namespace prophecy::transport

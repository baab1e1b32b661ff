// The tools' side of base/io/admin_socket.hpp.
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/assert.hpp"
#include "base/io/admin_socket.hpp"

namespace prophecy {

namespace {

Error timed_out(const std::filesystem::path& path) {
  return {ErrorKind::unavailable, path.string() + ": no answer in time"};
}

// Waits for `events`; false when the deadline passes first.
bool wait_for(int fd, short events, TimePoint deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds(0)) return false;
    pollfd poll{fd, events, 0};
    const int ready = ::poll(&poll, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<UniqueFd> connect_to(const std::filesystem::path& path) {
  sockaddr_un address{};
  if (path.native().size() >= sizeof address.sun_path) {
    return Error{ErrorKind::invalid, path.string() + ": too long for a Unix socket"};
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return io_error("socket");
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    Error error = io_error(path.string());
    error.kind = ErrorKind::unavailable;
    return error;
  }
  return fd;
}

// Some of the text, and the files with its first byte.
ssize_t send_with(int fd, std::string_view text, std::span<const int> files) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kAdminFilesMax * sizeof(int))> control{};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  }
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

Result<> send_all(int fd, const std::filesystem::path& path, std::string_view text,
                  std::span<const int> files, TimePoint deadline) {
  while (!text.empty()) {
    const ssize_t size = send_with(fd, text, files);
    if (size >= 0) {
      if (size > 0) files = {};
      text.remove_prefix(static_cast<std::size_t>(size));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(fd, POLLOUT, deadline)) return timed_out(path);
    } else if (errno != EINTR) {
      return io_error(path.string());
    }
  }
  return {};
}

}  // namespace

Result<std::string> admin_request(const std::filesystem::path& path, std::string_view request_line,
                                  Duration timeout, std::span<const int> files) {
  ASSERT(files.size() <= kAdminFilesMax);
  const TimePoint deadline = std::chrono::steady_clock::now() + timeout;
  auto fd = connect_to(path);
  if (!fd) return fd.error();
  const std::string line = std::string(request_line) + '\n';
  if (auto sent = send_all(fd->get(), path, line, files, deadline); !sent) return sent.error();

  std::string answer;
  char chunk[16 << 10];
  for (;;) {
    if (!wait_for(fd->get(), POLLIN, deadline)) return timed_out(path);
    const ssize_t size = ::recv(fd->get(), chunk, sizeof chunk, 0);
    if (size < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) continue;
    if (size < 0) return io_error(path.string());
    if (size == 0) {
      return Error{ErrorKind::protocol, path.string() + ": closed without an answer"};
    }
    answer.append(chunk, static_cast<std::size_t>(size));
    if (const std::size_t end = answer.find('\n'); end != std::string::npos) {
      answer.resize(end);
      return answer;
    }
    if (answer.size() > kAdminAnswerBytesMax) {
      return Error{ErrorKind::limit, path.string() + ": an answer without an end"};
    }
  }
}

}  // namespace prophecy

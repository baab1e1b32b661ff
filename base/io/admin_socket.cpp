#include "base/io/admin_socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace prophecy {

namespace {

constexpr Duration kConnectionTimeout = seconds(10);
constexpr Duration kAcceptPause = milliseconds(100);

enum class FileKind : std::uint8_t { none, socket, other };

FileKind kind_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return FileKind::none;
  return S_ISSOCK(status.st_mode) ? FileKind::socket : FileKind::other;
}

// Whether a process listens there. Only a refused connection proves that none does.
bool is_abandoned(const std::filesystem::path& path) {
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.native().copy(address.sun_path, sizeof address.sun_path - 1);
  const int outcome =
      ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  return outcome != 0 && errno == ECONNREFUSED;
}

// Makes room for a socket file of ours.
Result<> clear(const std::filesystem::path& path) {
  switch (kind_of(path)) {
    case FileKind::none:
      return {};
    case FileKind::other:
      return Error{ErrorKind::invalid, path.string() +
                                           ": exists and is not a socket; expected a "
                                           "path that is free for one"};
    case FileKind::socket:
      break;
  }
  if (!is_abandoned(path)) {
    return Error{ErrorKind::unavailable, path.string() + ": another process seems to listen there"};
  }
  if (::unlink(path.c_str()) != 0) return io_error(path.string());
  return {};
}

}  // namespace

// One request and its answer. Kept alive by its pending operations.
class AdminServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Protocol::socket socket, AdminServer& server)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), server_(&server) {}

  void start() {
    timer_.expires_after(kConnectionTimeout);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->close();
    });
    receive();
  }

  void close() {
    boost::system::error_code error;
    socket_.close(error);
    timer_.cancel();
    if (AdminServer* server = std::exchange(server_, nullptr)) {
      std::erase(server->connections_, shared_from_this());
    }
  }

  void detach() {
    server_ = nullptr;
    close();
  }

 private:
  void receive() {
    socket_.async_wait(Protocol::socket::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (error || self->server_ == nullptr) return self->close();
                         self->on_readable();
                       });
  }

  void on_readable() {
    const std::size_t before = line_.size();
    if (!take_bytes()) return close();
    const std::size_t end = line_.find('\n', before);
    if (end != std::string::npos) return answer(end);
    return line_.size() < kAdminRequestBytesMax ? receive() : close();
  }

  // What has come, with the files that came along. False at the end, and after what is not allowed.
  [[nodiscard]] bool take_bytes() {
    std::array<char, 4096> chunk;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kAdminFilesMax * sizeof(int))> control;
    iovec part{chunk.data(), chunk.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size =
        ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    for (cmsghdr* part_of = CMSG_FIRSTHDR(&message); part_of != nullptr;
         part_of = CMSG_NXTHDR(&message, part_of)) {
      if (part_of->cmsg_level != SOL_SOCKET || part_of->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (part_of->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(part_of) + i * sizeof fd, sizeof fd);
        files_.emplace_back(fd);
      }
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0 || files_.size() > kAdminFilesMax) return false;
    line_.append(chunk.data(), static_cast<std::size_t>(size));
    return size > 0;
  }

  void answer(std::size_t line_size) {
    const std::string_view line = std::string_view(line_).substr(0, line_size);
    if (files_.empty()) {
      answer_ = server_->handler_(line);
    } else if (server_->file_handler_) {
      answer_ = server_->file_handler_(line, std::exchange(files_, {}));
    } else {
      return close();
    }
    answer_ += '\n';
    boost::asio::async_write(socket_, boost::asio::buffer(answer_),
                             [self = shared_from_this()](const boost::system::error_code&,
                                                         std::size_t) { self->close(); });
  }

  Protocol::socket socket_;
  boost::asio::steady_timer timer_;
  AdminServer* server_;  // null once closed
  std::string line_;
  std::vector<UniqueFd> files_;
  std::string answer_;
};

AdminServer::AdminServer(boost::asio::io_context& io, std::filesystem::path path, Handler handler)
    : acceptor_(io), accept_pause_(io), path_(std::move(path)), handler_(std::move(handler)) {}

AdminServer::~AdminServer() {
  stop();
}

Result<std::unique_ptr<AdminServer>> AdminServer::listen(boost::asio::io_context& io,
                                                         std::filesystem::path path,
                                                         Handler handler) {
  if (path.native().size() >= sizeof(sockaddr_un{}.sun_path)) {
    return Error{ErrorKind::invalid, path.string() + ": too long for a Unix socket"};
  }
  if (auto cleared = clear(path); !cleared) return cleared.error();

  std::unique_ptr<AdminServer> server(new AdminServer(io, path, std::move(handler)));
  const auto failed = [&](const boost::system::error_code& error) {
    return Error{ErrorKind::io, "cannot listen on " + path.string() + ": " + error.message()};
  };
  boost::system::error_code error;
  if (server->acceptor_.open({}, error); error) return failed(error);
  // On Linux the socket file takes its mode from the socket: never open to others, not even for
  // a moment.
  if (::fchmod(server->acceptor_.native_handle(), 0600) != 0) return io_error(path.string());
  if (server->acceptor_.bind(path.string(), error); error) return failed(error);
  server->owns_file_ = true;
  if (::chmod(path.c_str(), 0600) != 0) return io_error(path.string());
  if (server->acceptor_.listen(kAdminConnectionsMax, error); error) return failed(error);
  server->accept();
  return server;
}

void AdminServer::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& error, Protocol::socket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (error) {
      accept_pause_.expires_after(kAcceptPause);
      accept_pause_.async_wait([this](const boost::system::error_code& stopped) {
        if (!stopped && acceptor_.is_open()) accept();
      });
      return;
    }
    if (connections_.size() < kAdminConnectionsMax) {
      connections_.push_back(std::make_shared<Connection>(std::move(socket), *this));
      connections_.back()->start();
    }
    accept();
  });
}

void AdminServer::close_all() {
  boost::system::error_code error;
  acceptor_.close(error);
  accept_pause_.cancel();
  for (const auto& connection : std::exchange(connections_, {}))
    connection->detach();
}

void AdminServer::stop() {
  close_all();
  // By now somebody may have put a file of theirs there.
  if (std::exchange(owns_file_, false) && kind_of(path_) == FileKind::socket) {
    ::unlink(path_.c_str());
  }
}

void AdminServer::abandon() {
  owns_file_ = false;
  close_all();
}

}  // namespace prophecy

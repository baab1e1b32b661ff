#include "dht/zookeeper/connection.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include <boost/asio/ip/tcp.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/assert.hpp"

namespace prophecy::zookeeper {

namespace asio = boost::asio;
using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kReadBytes = 16U << 10;
// Then others have their turn.
constexpr int kReadsMax = 8;

std::string reason_of(transport::PeerFault fault) {
  switch (fault) {
    case transport::PeerFault::none:
      return "TLS: " + transport::TlsChannel::failure();
    case transport::PeerFault::untrusted:
      return "TLS: no trusted authority has signed its certificate";
    case transport::PeerFault::expired:
      return "TLS: its certificate is not valid now";
    case transport::PeerFault::wrong_name:
      return "TLS: its certificate is for another name";
  }
  UNREACHABLE();
}

}  // namespace

void Connection::open(const Endpoint& server, transport::TlsClient* tls) {
  ASSERT(state_ == State::closed);
  state_ = State::connecting;
  tls_ = tls;
  connect_error_ = start_connecting(server);
  // Told in a turn of its own, as any other end is.
  if (connect_error_ != 0) readiness_.call_again(*this);
}

int Connection::start_connecting(const Endpoint& server) {
  const asio::ip::tcp::endpoint address(asio::ip::make_address(server.address), server.port);
  UniqueFd fd(::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return errno;
  const int socket = fd.get();
  stream_.emplace(std::move(fd));
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket, address.data(), static_cast<socklen_t>(address.size())) != 0 &&
      errno != EINPROGRESS) {
    return errno;
  }
  return readiness_.add(socket, *this) ? 0 : errno;
}

void Connection::on_ready(std::uint32_t events) {
  if (stream_) stream_->note(events);
  switch (state_) {
    case State::closed:
      return;
    case State::connecting:
      if (connect_error_ != 0) return on_connected(connect_error_);
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return;
      {
        int error = 0;
        socklen_t size = sizeof error;
        const int asked = ::getsockopt(stream_->descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
        on_connected(asked == 0 ? error : errno);
      }
      break;
    case State::securing:
      shake_hands();
      break;
    case State::open:
      write();
      break;
  }
  if (state_ == State::open) read();
}

void Connection::on_connected(int error) {
  if (error != 0) return lose(std::generic_category().message(error));
  if (tls_ == nullptr) return on_established();
  auto channel = tls_->connect(stream_->socket());
  if (!channel) return lose("TLS: no memory");
  stream_->secure(std::move(channel));
  state_ = State::securing;
  shake_hands();
}

void Connection::shake_hands() {
  switch (stream_->tls()->handshake()) {
    case IoStatus::done:
      return on_established();
    case IoStatus::blocked:
      return;
    default:
      return lose(reason_of(stream_->tls()->peer_fault()));
  }
}

void Connection::on_established() {
  state_ = State::open;
  handler_.on_opened();
}

void Connection::send(ByteView bytes) {
  ASSERT(state_ == State::open);
  unsent_.append(as_text(bytes));
  write();
}

// An error shows on the reading side as well, where the server's last words may lie in front of it.
void Connection::write() {
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const IoResult result = stream_->write(std::string_view(unsent_).substr(sent));
    if (result.status != IoStatus::done) break;
    sent += result.size;
  }
  unsent_.erase(0, sent);
}

void Connection::read() {
  std::array<char, kReadBytes> input;
  for (int reads = 0; state_ == State::open; ++reads) {
    if (!stream_->may_have_input()) return;
    if (reads == kReadsMax) return readiness_.call_again(*this);
    const IoResult result = stream_->read(input.data(), input.size());
    switch (result.status) {
      case IoStatus::done:
        handler_.on_bytes(as_bytes({input.data(), result.size}));
        break;
      case IoStatus::blocked:
        return;
      case IoStatus::ended:
        return lose("the server has closed the connection");
      case IoStatus::failed:
        return lose(tls_ == nullptr ? "the connection was reset"
                                    : reason_of(transport::PeerFault::none));
    }
  }
}

void Connection::lose(std::string reason) {
  close();
  handler_.on_lost(std::move(reason));
}

void Connection::close() {
  readiness_.forget(*this);
  state_ = State::closed;
  stream_.reset();
  unsent_.clear();
}

}  // namespace prophecy::zookeeper

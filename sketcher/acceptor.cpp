#include "sketcher/acceptor.hpp"

#include <sys/socket.h>

namespace prophecy::sketcher {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

namespace {

// Out of descriptors or memory: trying again at once would only burn the processor.
constexpr auto kRetryDelay = std::chrono::milliseconds(100);

tcp protocol_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  const bool v6 = ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                  address.ss_family == AF_INET6;
  return v6 ? tcp::v6() : tcp::v4();
}

}  // namespace

Acceptor::Acceptor(asio::io_context& loop, UniqueFd listener, OnAccepted on_accepted)
    : acceptor_(loop), retry_(loop), on_accepted_(std::move(on_accepted)) {
  const tcp protocol = protocol_of(listener.get());
  acceptor_.assign(protocol, listener.release());
}

void Acceptor::resume() {
  accepting_ = true;
  accept();
}

void Acceptor::pause() {
  accepting_ = false;
  boost::system::error_code ignored;
  acceptor_.cancel(ignored);
  retry_.cancel();
}

void Acceptor::close() {
  accepting_ = false;
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
}

void Acceptor::accept() {
  if (pending_) return;
  pending_ = true;
  acceptor_.async_accept([this](const boost::system::error_code& error, tcp::socket socket) {
    pending_ = false;
    if (!error) {
      boost::system::error_code gone;
      const auto peer = socket.remote_endpoint(gone);
      if (!gone) on_accepted_(std::move(socket), peer.address().to_string());
    }
    if (!accepting_) return;
    const bool transient = !error || error == asio::error::connection_aborted ||
                           error == asio::error::operation_aborted;
    if (transient) return accept();
    retry_.expires_after(kRetryDelay);
    retry_.async_wait([this](const boost::system::error_code& cancelled) {
      if (!cancelled && accepting_) accept();
    });
  });
}

}  // namespace prophecy::sketcher

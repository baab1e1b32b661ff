#include "pbft/transport/socket.hpp"

#include <boost/asio/ip/address.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace prophecy::pbft {

namespace {

constexpr int kKeepAliveIdleSeconds = 10;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;
constexpr int kUserTimeoutMilliseconds = 25'000;

void set_option(int fd, int level, int name, int value) {
  (void)::setsockopt(fd, level, name, &value, sizeof value);
}

}  // namespace

boost::asio::ip::tcp::endpoint to_asio(const Endpoint& endpoint) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(endpoint.address, error);
  return {address, endpoint.port};
}

void prepare_connection(Socket& socket) {
  boost::system::error_code error;
  socket.non_blocking(true, error);
  const int fd = socket.native_handle();
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMilliseconds);
}

Result<Acceptor> listen_on(boost::asio::io_context& io, const Endpoint& endpoint) {
  Acceptor acceptor(io);
  const auto address = to_asio(endpoint);
  boost::system::error_code error;
  const auto failed = [&] {
    return Error{ErrorKind::io, "cannot listen on " + to_string(endpoint) + ": " + error.message()};
  };
  if (acceptor.open(address.protocol(), error); error) return failed();
  if (acceptor.set_option(Acceptor::reuse_address(true), error); error) return failed();
  if (acceptor.bind(address, error); error) return failed();
  if (acceptor.listen(Acceptor::max_listen_connections, error); error) return failed();
  return acceptor;
}

}  // namespace prophecy::pbft

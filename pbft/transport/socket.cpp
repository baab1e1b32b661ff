#include "pbft/transport/socket.hpp"

#include <boost/asio/ip/address.hpp>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "transport/connecting.hpp"

namespace prophecy::pbft {

boost::asio::ip::tcp::endpoint to_asio(const Endpoint& endpoint) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(endpoint.address, error);
  return {address, endpoint.port};
}

void prepare_connection(Socket& socket) {
  boost::system::error_code error;
  socket.non_blocking(true, error);
  socket.set_option(boost::asio::ip::tcp::no_delay(true), error);
  transport::notice_lost_peer(socket.native_handle());
}

std::size_t unconfirmed_bytes(Socket& socket) {
  int bytes = 0;
  if (::ioctl(socket.native_handle(), SIOCOUTQ, &bytes) != 0 || bytes < 0) return 0;
  return static_cast<std::size_t>(bytes);
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

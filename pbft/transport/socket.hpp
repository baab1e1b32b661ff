// The socket types of this floor, and the options that every connection gets.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/clock.hpp"
#include "base/endpoint.hpp"
#include "base/error.hpp"

namespace prophecy::pbft {

// Bound to the io_context itself: no type-erased executor on the hot path.
using LoopExecutor = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, LoopExecutor>;
using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, LoopExecutor>;
using Timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, LoopExecutor>;

[[nodiscard]] boost::asio::ip::tcp::endpoint to_asio(const Endpoint& endpoint);

// No delay, non-blocking, and a dead or half-open peer is noticed within half a minute. Best
// effort: a socket that has just been reset fails soon enough by itself.
void prepare_connection(Socket& socket);

// Bytes that the socket has taken and the peer's system has not confirmed; 0 when it does not say.
[[nodiscard]] std::size_t unconfirmed_bytes(Socket& socket);

// Bound and listening. The message names the address.
[[nodiscard]] Result<Acceptor> listen_on(boost::asio::io_context& io, const Endpoint& endpoint);

}  // namespace prophecy::pbft

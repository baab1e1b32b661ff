// Accepts clients on one listening socket that the master has opened.
#pragma once

#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/ip_address.hpp"
#include "base/unique_fd.hpp"

namespace prophecy::sketcher {

class Acceptor {
 public:
  // The peer's socket, non-blocking and without Nagle's delay, and its address.
  using OnAccepted = std::function<void(UniqueFd, const IpAddress&)>;

  Acceptor(boost::asio::io_context& loop, UniqueFd listener, OnAccepted on_accepted);

  void resume();
  // Clients wait in the backlog from now on.
  void pause();
  // For good: new clients are refused, once the master has closed its copy as well.
  void close();

 private:
  void wait();
  void accept();
  void wait_for_resources();

  boost::asio::posix::stream_descriptor listener_;
  boost::asio::steady_timer retry_;
  OnAccepted on_accepted_;
  bool accepting_ = false;  // clients are wanted
  bool pending_ = false;    // an operation is under way
};

}  // namespace prophecy::sketcher

// Tells many sockets' owners when their sockets become readable or writable, each time anew
// (edge-triggered), through an epoll instance of its own inside an Asio loop. A socket is
// registered once, for good: waiting for it again costs no system call, and an idle one holds no
// operation, no handler and no buffer. One turn of the loop takes what all sockets have to tell in
// one call.
//
// Single-threaded. Its io_context must not run any more once it is destroyed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/epoll.h>

namespace prophecy::transport {

class ReadinessHandler {
 public:
  // `events` are epoll's. May forget any handler, and destroy any but itself.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~ReadinessHandler() = default;
};

class ReadinessLoop {
 public:
  explicit ReadinessLoop(boost::asio::io_context& loop);
  ReadinessLoop(const ReadinessLoop&) = delete;
  ReadinessLoop& operator=(const ReadinessLoop&) = delete;

  // The first call comes soon, when it is writable at the latest. False when the kernel refuses.
  [[nodiscard]] bool add(int socket, ReadinessHandler& handler);
  // Calls the handler in the next turn, with no events: for one that has had enough for now.
  void call_again(ReadinessHandler& handler);
  // The handler is not called any more. Closing its socket, which follows, does the rest.
  void forget(ReadinessHandler& handler);

 private:
  void wait();
  void turn();
  // False when there was room for more than has come.
  [[nodiscard]] bool take_events();
  void take_again();

  boost::asio::posix::stream_descriptor epoll_;
  std::span<epoll_event> batch_;  // what is under way of take_events()
  std::vector<ReadinessHandler*> again_;
  std::vector<ReadinessHandler*> taken_again_;
};

}  // namespace prophecy::transport

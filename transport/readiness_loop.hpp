// Tells many sockets' owners when their sockets become readable or writable, each time anew
// (edge-triggered), through an epoll instance of its own inside an Asio loop. A socket is
// registered once, for good: waiting for it again costs no system call, and an idle one holds no
// operation, no handler and no buffer. One turn of the loop takes what all sockets have to tell in
// one call.
//
// A loop has one, made when it is first asked for, and gone with the loop: a service, in Asio's
// words. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <sys/epoll.h>

namespace prophecy::transport {

// What the loop notes of a handler.
class ReadinessNote {
  friend class ReadinessLoop;
  bool watched_ = false;
  bool called_again_ = false;  // from the call to the turn
};

class ReadinessHandler : public ReadinessNote {
 public:
  // `events` are epoll's. May forget any handler, and destroy any but itself.
  virtual void on_ready(std::uint32_t events) = 0;

 protected:
  ~ReadinessHandler() = default;
};

class ReadinessLoop final : public boost::asio::execution_context::service {
 public:
  [[nodiscard]] static ReadinessLoop& of(boost::asio::io_context& loop);

  // For Asio alone.
  static inline boost::asio::execution_context::id id;
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
  void shutdown() override;
  // As long as a socket is watched; so the loop runs out of work behind the last one.
  void wait();
  void turn();
  // False when there was room for more than has come.
  [[nodiscard]] bool take_events();
  void take_again();

  boost::asio::posix::stream_descriptor epoll_;
  std::size_t watched_ = 0;
  bool waiting_ = false;
  std::span<epoll_event> batch_;  // what is under way of take_events()
  std::vector<ReadinessHandler*> again_;
  std::vector<ReadinessHandler*> taken_again_;
};

}  // namespace prophecy::transport

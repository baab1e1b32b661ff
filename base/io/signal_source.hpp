// Signals as events of a loop, through signalfd. (Asio's own signal_set shares hidden state
// between all loops of a process and its forked children.)
#pragma once

#include <functional>
#include <initializer_list>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace prophecy {

class SignalSource {
 public:
  // Blocks these signals for the process, for good, and calls `on_signal` with the number of each
  // that arrives. Several of a kind may arrive as one.
  SignalSource(boost::asio::io_context& loop, std::initializer_list<int> signals,
               std::function<void(int)> on_signal);

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void(int)> on_signal_;
};

}  // namespace prophecy

// One connection of an OriginPool. States:
//
//   connecting --> busy <--> idle
//        \          |         /
//         +----> closed <----+      (destroyed when no operation is pending any more)
#pragma once

#include <array>

#include "replica_client/origin_pool.hpp"

namespace prophecy::replica_client {

class OriginConnection final : private TimeoutEntry {
 public:
  OriginConnection(OriginPool& pool, boost::asio::io_context& loop);

  // A fresh connection: connects, then sends the call's request.
  void open(FastCall& call);
  // An idle connection: sends the call's request.
  void send(FastCall& call);
  // The call was given up: its answer cannot be told from the next one's, so we close.
  void abandon();

 private:
  friend class OriginPool;
  enum class State : std::uint8_t { connecting, idle, busy, closed };

  void on_timeout() override;
  void on_connected(const boost::system::error_code& error);
  void write();
  void on_written(const boost::system::error_code& error, std::size_t size);
  void read();
  void on_read(const boost::system::error_code& error, std::size_t size);
  void on_bytes(std::string_view input);
  void complete(bool reusable);
  // Closes, and ends the call (if any): by a second try where that is safe, else as failed.
  void fail(FastFailure failure);
  void close();
  // Every completion handler ends here: destroys a closed connection after its last operation.
  void operation_ended();

  OriginPool& pool_;
  boost::asio::ip::tcp::socket socket_;
  State state_ = State::connecting;
  bool fresh_ = true;           // no call has been answered on it
  bool answer_begun_ = false;
  std::uint8_t pending_ = 0;    // asynchronous operations under way
  FastCall* call_ = nullptr;
  std::string_view unsent_;
  http::Response response_;
  http::ResponseParser parser_;
  std::array<char, 8192> input_;
};

}  // namespace prophecy::replica_client

// One connection of an OriginPool, which carries one exchange at a time. States:
//
//   connecting --> busy <--> idle
//        \          |         /
//         +----> closed <----+      (destroyed when no operation is pending any more)
//
// One read is pending as long as the connection is open, so that an origin that hangs up on an
// idle connection is noticed at once and not by the next request.
#pragma once

#include <array>

#include <boost/asio/basic_stream_socket.hpp>

#include "http/client/origin_pool.hpp"

namespace prophecy::http {

class OriginConnection final : private TimeoutEntry {
 public:
  OriginConnection(OriginPool& pool, boost::asio::io_context& loop);

  // A new connection: connects, then sends the request.
  void open(OriginExchange& exchange);
  // An idle connection: sends the request.
  void send(OriginExchange& exchange);
  // Ends without a word to the exchange: its answer could not be told from the next one's.
  void abandon();
  // What it carries, or null.
  [[nodiscard]] OriginExchange* exchange() const { return exchange_; }
  // Some of the request has left.
  [[nodiscard]] bool has_sent() const { return sent_ > 0; }

 private:
  friend class OriginPool;
  enum class State : std::uint8_t { connecting, busy, idle, closed };
  // With its executor's type known, Asio needs no type-erased one.
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp,
                                                  boost::asio::io_context::executor_type>;

  void on_timeout() override;
  void on_connected(const boost::system::error_code& error);
  void write();
  void read();
  void on_read(const boost::system::error_code& error, std::size_t size);
  void on_bytes(std::string_view input);
  void on_end_of_stream();
  void on_answered(bool reusable);
  // Closes, and ends the exchange.
  void fail(ExchangeEnd end);
  void close();
  // Every completion handler ends here: destroys a closed connection after its last operation.
  void operation_ended();

  OriginPool& pool_;
  Socket socket_;
  State state_ = State::connecting;
  bool reused_ = false;        // an exchange has been answered on it
  bool answer_begun_ = false;  // a byte of the answer is there
  std::uint8_t pending_ = 0;   // asynchronous operations under way
  OriginExchange* exchange_ = nullptr;
  std::size_t sent_ = 0;  // bytes of the request
  Response response_;
  ResponseParser parser_;
  std::array<char, 8192> input_;
};

}  // namespace prophecy::http

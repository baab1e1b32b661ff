// One HTTP/1.1 connection to the origin, which carries one exchange at a time.
//
//            begin()        connected
//   (new) ----------> connecting ----> busy <----> idle      begin() on an idle one
//                          |            |           |
//                          +------> closed <--------+
//
// One read is always outstanding while the connection is open, so that an origin that hangs up on
// an idle connection is noticed at once and not by the next request.
//
// Single-threaded. Kept alive by its own pending operations.
#pragma once

#include <array>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "http/parser.hpp"
#include "pbft/services/origin_exchange.hpp"

namespace prophecy::pbft {

class OriginConnection : public std::enable_shared_from_this<OriginConnection> {
 public:
  class Owner {
   public:
    // The exchange is over; the connection is idle or closed by now.
    virtual void on_connection_end(OriginConnection& connection, OriginExchange& exchange,
                                   ExchangeEnd end) = 0;
    // An idle connection was closed by the origin.
    virtual void on_idle_closed(OriginConnection& connection) = 0;

   protected:
    ~Owner() = default;
  };

  OriginConnection(boost::asio::io_context& io, const OriginSettings& settings, Owner& owner);

  // Requires a new or an idle connection.
  void begin(OriginExchange& exchange, TimePoint now);
  // Ends an exchange that has run out of time, in the way its state calls for.
  void check_deadline(TimePoint now);
  // Silently: the owner hears nothing any more.
  void abandon();

  [[nodiscard]] bool is_idle() const { return state_ == State::idle; }
  [[nodiscard]] bool is_closed() const { return state_ == State::closed; }
  [[nodiscard]] TimePoint idle_since() const { return idle_since_; }
  [[nodiscard]] const http::Response& response() const { return response_; }

 private:
  enum class State : std::uint8_t { fresh, connecting, busy, idle, closed };

  void connect();
  void send_request();
  void write_on();
  void read_some();
  void handle_read(const boost::system::error_code& error, std::size_t size);
  void feed(std::string_view input);
  void handle_end_of_stream();
  void finish(ExchangeEnd end, State next);
  void close();

  boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>
      socket_;
  const OriginSettings& settings_;
  Owner* owner_;
  State state_ = State::fresh;
  bool reused_ = false;        // an exchange has been answered on it
  bool answer_begun_ = false;  // a byte of the answer is there
  OriginExchange* exchange_ = nullptr;
  std::size_t sent_ = 0;  // bytes of the request
  TimePoint deadline_{};
  TimePoint idle_since_{};
  http::Response response_;
  http::ResponseParser parser_;
  std::array<char, 16 << 10> input_;
};

}  // namespace prophecy::pbft

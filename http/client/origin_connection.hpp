// One connection of an OriginPool. It carries one exchange at a time or, where the pool's settings
// and the exchanges allow it, several behind each other (pipelining). States:
//
//   connecting --> busy <--> idle         (a TLS handshake is part of connecting)
//        \          |         /
//         +----> closed <----+      (destroyed when no operation is pending any more)
//
// One read is pending as long as the connection is open, so that an origin that hangs up on an
// idle connection is noticed at once and not by the next request.
#pragma once

#include <array>
#include <vector>

#include <boost/asio/basic_stream_socket.hpp>

#include "http/client/origin_pool.hpp"
#include "http/client/origin_tls.hpp"

namespace prophecy::http {

class OriginConnection final : private TimeoutEntry {
 public:
  OriginConnection(OriginPool& pool, boost::asio::io_context& loop);

  // A new connection: connects, then sends the request.
  void open(OriginExchange& exchange);
  // An idle connection, or one that may be shared: sends the request.
  void send(OriginExchange& exchange);
  // The exchange is cancelled. The answers behind its own are still awaited; when there are none,
  // or when half of its request has left, the connection is closed.
  void leave(OriginExchange& exchange);
  // For the exchange in pieces that it carries.
  void pause() { paused_ = true; }
  void resume();
  // Cancels whatever it carries and closes.
  void stop();
  // Busy, and another exchange may be sent behind those that it carries.
  [[nodiscard]] bool may_share() const;
  // How many answers are to come.
  [[nodiscard]] std::size_t depth() const { return carried_.size(); }
  // Some of the request has left.
  [[nodiscard]] bool has_sent(const OriginExchange& exchange) const;
  // A write at the end of this turn of the loop.
  [[nodiscard]] bool flush_pending() const { return flush_pending_; }
  void flush();

 private:
  friend class OriginPool;
  enum class State : std::uint8_t { connecting, busy, idle, closed };
  // With its executor's type known, Asio needs no type-erased one.
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp,
                                                  boost::asio::io_context::executor_type>;
  struct Carried {
    OriginExchange* exchange;  // null: cancelled, its answer is skipped
    std::string_view wire;     // meaningless once it is sent
    std::size_t sent;          // bytes of it
    bool answers_head;
    bool pipelined;
    std::size_t piece_bytes;

    [[nodiscard]] bool is_sent() const { return sent == wire.size(); }
  };

  void on_timeout() override;
  void on_connected(const boost::system::error_code& error);
  [[nodiscard]] bool announce();
  void shake_hands();
  void on_established();
  void write();
  // One call to the socket; what it took is noted.
  boost::system::error_code write_some();
  [[nodiscard]] boost::system::error_code write_tls();
  void read();
  // Where the next bytes belong: in the body itself, once only plain bytes of it are to come.
  [[nodiscard]] boost::asio::mutable_buffer read_buffer();
  void read_tls();
  void wait_tls();
  void on_read(const boost::system::error_code& error, std::size_t size);
  void on_bytes(std::string_view input);
  void on_body_bytes(std::size_t size);
  void on_head();
  // Tells the handler of an exchange in pieces, who may close this connection.
  void report_progress();
  void reset_parser();
  void on_answer_complete();
  void on_end_of_stream(bool orderly);
  void on_answered(bool reusable);
  // Closes, and ends the first exchange. The others are put back.
  void fail(ExchangeEnd end);
  void close();
  // Closes with exchanges on it, all of which are put back. `untouched`: the origin has said that
  // it does nothing about them.
  void close_and_put_back(bool untouched);
  // Somebody waits for an answer on it.
  [[nodiscard]] bool is_wanted() const;
  [[nodiscard]] std::vector<Carried>::iterator find(const OriginExchange& exchange);
  // Every completion handler ends here: destroys a closed connection after its last operation.
  void operation_ended();

  OriginPool& pool_;
  Socket socket_;
  State state_ = State::connecting;
  bool reused_ = false;             // an exchange has been answered on it
  bool answer_begun_ = false;       // a byte of the first exchange's answer is there
  bool flush_pending_ = false;      // the pool calls flush() at the end of the turn
  bool write_blocked_ = false;      // the socket takes nothing more for now
  std::uint8_t pending_ = 0;        // asynchronous operations under way
  TimePoint first_since_{};         // since when the first answer has been the next one
  std::unique_ptr<OriginTls> tls_;  // null: plain
  std::vector<Carried> carried_;    // in the order of their answers; not yet sent ones last
  bool reading_ = false;            // a read is under way, or what it brought is being looked at
  bool paused_ = false;
  bool reads_body_ = false;  // the read under way goes into the body, behind body_bytes_
  std::size_t body_bytes_ = 0;
  Response response_;
  ResponseParser parser_;
  std::array<char, 8192> input_;
};

}  // namespace prophecy::http

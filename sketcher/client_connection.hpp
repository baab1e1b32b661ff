// One client's HTTP/1.x connection. Requests are taken one after another, pipelined ones too, and
// answered in their order. States:
//
//   +--> head --> body --> exchanging --> flushing --+     a request, its answer, and the next
//   |      |        |                        |       |
//   +------|--------|------------------------|-------+
//          |        |                        |
//          +--------+------------------------+--> lingering --> closed
//
// `lingering`: we end the connection; what still arrives is discarded, so that our last answer is
// not lost. Any state may go straight to `closed`: the client has left, or was too slow.
//
// While the group is asked, a look at the socket now and then tells whether the client is still
// there; nothing is read, and a call that takes less costs nothing. A client that has only ended
// its sending (FIN) gets its answer.
//
// Single-threaded. Destroyed by its owner when it is closed and no operation is pending.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>

#include "http/parser.hpp"
#include "sketcher/answer_writer.hpp"
#include "sketcher/exchange.hpp"

namespace prophecy::sketcher {

class ClientConnection;
class DateCache;

// What a connection needs of its worker.
struct ConnectionTimeouts {
  TimeoutQueue header;
  TimeoutQueue body;
  TimeoutQueue idle;
  TimeoutQueue send;
  TimeoutQueue linger;
  TimeoutQueue presence;  // between two looks for the client of a replicated request
};

class ConnectionOwner {
 public:
  // May destroy the connection; the last thing that the connection does.
  virtual void on_connection_closed(ClientConnection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

class ClientConnection final : private AnswerSink, private TimeoutEntry {
 public:
  ClientConnection(boost::asio::ip::tcp::socket socket, std::string address, WorkerContext& context,
                   ConnectionTimeouts& timeouts, DateCache& date, ConnectionOwner& owner);
  ~ClientConnection() override;

  void start();
  // The worker stops: an idle connection closes now, another one after its answer.
  void drain();

  [[nodiscard]] const std::string& address() const { return address_; }  // the client's

  // Where its owner keeps it.
  [[nodiscard]] std::size_t position() const { return position_; }
  void set_position(std::size_t position) { position_ = position; }

 private:
  enum class State : std::uint8_t { head, body, exchanging, flushing, lingering, closed };

  void on_answer(const sketch::AnswerForm& form, const std::optional<Sketch>& sketch) override;
  void on_error(std::uint16_t status, std::string_view reason) override;
  void on_timeout() override;

  [[nodiscard]] bool reading() const { return state_ == State::head || state_ == State::body; }
  void read();
  void on_read(const boost::system::error_code& error, std::size_t size);
  // Parses what has arrived until a request is whole or nothing is left.
  void process_input();
  void on_head();
  void refuse(std::uint16_t status, std::string_view reason);
  void look_for_client();
  void answered();
  [[nodiscard]] AnswerFraming framing() const;

  // Sends what is unsent; in the end goes on with the next request, or closes.
  void flush();
  void on_writable(const boost::system::error_code& error);
  void next_request();
  void linger();
  void close();
  void operation_ended();

  boost::asio::ip::tcp::socket socket_;
  std::string address_;
  WorkerContext& context_;
  ConnectionTimeouts& timeouts_;
  DateCache& date_;
  ConnectionOwner& owner_;
  std::size_t position_ = 0;

  State state_ = State::head;
  bool keep_alive_ = true;
  bool draining_ = false;
  bool processing_ = false;   // process_input() is on the stack
  std::uint8_t pending_ = 0;  // asynchronous operations under way
  bool read_pending_ = false;

  http::Request request_;
  http::RequestParser parser_;
  Exchange exchange_;
  std::string input_;            // its size is the buffer's
  std::size_t input_begin_ = 0;  // unparsed: [begin, end)
  std::size_t input_end_ = 0;
  std::string output_;
  std::size_t output_begin_ = 0;  // unsent: [begin, size)
  std::size_t discarded_ = 0;     // bytes read while lingering
};

}  // namespace prophecy::sketcher

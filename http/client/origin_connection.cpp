#include "http/client/origin_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::http {

namespace asio = boost::asio;
using boost::system::error_code;

OriginConnection::OriginConnection(OriginPool& pool, asio::io_context& loop)
    : pool_(pool), socket_(loop), parser_(response_, pool.settings_.answer_limits) {}

void OriginConnection::open(OriginExchange& exchange) {
  exchange_ = &exchange;
  exchange.connection_ = this;
  pool_.timeouts_.connect.arm(*this, std::chrono::steady_clock::now());
  ++pending_;
  socket_.async_connect(pool_.address_, [this](const error_code& error) {
    --pending_;
    on_connected(error);
    operation_ended();
  });
}

void OriginConnection::on_connected(const error_code& error) {
  if (state_ == State::closed) return;
  if (error) return fail(ExchangeEnd::not_sent);
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  state_ = State::idle;
  read();
  send(*exchange_);
}

void OriginConnection::send(OriginExchange& exchange) {
  ASSERT(state_ == State::idle);
  disarm();
  state_ = State::busy;
  exchange_ = &exchange;
  exchange.connection_ = this;
  answer_begun_ = false;
  sent_ = 0;
  parser_.reset(exchange.request_.answers_head);
  write();
}

// The request is written as far as the socket takes it. An error shows on the reading side as
// well, where an early answer (a 413, say) may lie in front of it: that one decides. Only when
// nothing at all has left is the case clear at once.
void OriginConnection::write() {
  const std::string_view wire = exchange_->request_.wire;
  while (sent_ < wire.size()) {
    error_code error;
    const std::size_t size =
        socket_.write_some(asio::buffer(wire.data() + sent_, wire.size() - sent_), error);
    if (error == asio::error::would_block) break;
    if (error) {
      if (sent_ == 0) fail(reused_ ? ExchangeEnd::stale : ExchangeEnd::not_sent);
      return;
    }
    sent_ += size;
  }
  if (sent_ == wire.size()) return;
  ++pending_;
  socket_.async_wait(Socket::wait_write, [this, exchange = exchange_](const error_code& error) {
    --pending_;
    if (!error && state_ == State::busy && exchange_ == exchange) write();
    operation_ended();
  });
}

void OriginConnection::read() {
  ++pending_;
  socket_.async_read_some(asio::buffer(input_), [this](const error_code& error, std::size_t size) {
    --pending_;
    on_read(error, size);
    if (state_ != State::closed) read();
    operation_ended();
  });
}

void OriginConnection::on_read(const error_code& error, std::size_t size) {
  switch (state_) {
    case State::closed:
      return;
    case State::idle:  // hung up on, or bytes that nobody asked for
      return close();
    case State::busy:
      return error ? on_end_of_stream() : on_bytes({input_.data(), size});
    case State::connecting:
      UNREACHABLE();
  }
}

void OriginConnection::on_bytes(std::string_view input) {
  answer_begun_ = true;
  for (;;) {
    const ParseProgress progress = parser_.feed(input);
    input.remove_prefix(progress.consumed);
    switch (progress.state) {
      case ParseState::head_done:
        continue;
      case ParseState::need_more:
        return;
      case ParseState::failed:
        return fail(parser_.failure().body_too_large ? ExchangeEnd::too_large
                                                     : ExchangeEnd::malformed);
      case ParseState::complete:
        // Bytes behind the answer would be taken for the next one.
        if (!input.empty()) return fail(ExchangeEnd::malformed);
        // An answer before the request was through: the rest must not follow.
        return on_answered(response_.keep_alive && sent_ == exchange_->request_.wire.size());
    }
  }
}

void OriginConnection::on_end_of_stream() {
  if (!answer_begun_) return fail(reused_ ? ExchangeEnd::stale : ExchangeEnd::broken);
  // Some bodies end with the connection; any other is cut short.
  if (parser_.finish().state == ParseState::complete) return on_answered(false);
  fail(ExchangeEnd::broken);
}

void OriginConnection::on_answered(bool reusable) {
  OriginExchange& exchange = *std::exchange(exchange_, nullptr);
  exchange.connection_ = nullptr;
  reused_ = true;
  // The handler runs before the connection is offered to others, which would overwrite the
  // response.
  pool_.end(exchange, ExchangeEnd::answered, response_);
  if (!reusable) return close();
  state_ = State::idle;
  pool_.timeouts_.idle.arm(*this, std::chrono::steady_clock::now());
  pool_.on_connection_idle(*this);
}

void OriginConnection::fail(ExchangeEnd end) {
  OriginExchange& exchange = *std::exchange(exchange_, nullptr);
  exchange.connection_ = nullptr;
  close();
  pool_.end(exchange, end, response_);
}

void OriginConnection::abandon() {
  exchange_ = nullptr;
  close();
}

void OriginConnection::on_timeout() {
  if (state_ == State::connecting) return fail(ExchangeEnd::not_sent);
  close();  // idle for long enough
}

void OriginConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  error_code ignored;
  socket_.close(ignored);
  // Closing counts as an operation: whoever closes is in the middle of this object's code.
  ++pending_;
  asio::post(socket_.get_executor(), [this] {
    --pending_;
    operation_ended();
  });
  pool_.on_connection_closed(*this);
}

void OriginConnection::operation_ended() {
  if (state_ == State::closed && pending_ == 0) pool_.on_connection_finished(*this);
}

}  // namespace prophecy::http

#include "pbft/services/origin_connection.hpp"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>

#include "base/assert.hpp"

namespace prophecy::pbft {

namespace {

// An answer's storage beyond this is given back before the next exchange.
constexpr std::size_t kKeptBytesMax = 256 << 10;

}  // namespace

OriginConnection::OriginConnection(boost::asio::io_context& io, const OriginSettings& settings,
                                   Owner& owner)
    : socket_(io), settings_(settings), owner_(&owner), parser_(response_, settings.answer_limits) {}

void OriginConnection::begin(OriginExchange& exchange, TimePoint now) {
  ASSERT(state_ == State::fresh || state_ == State::idle);
  exchange_ = &exchange;
  sent_ = 0;
  answer_begun_ = false;
  if (response_.body.capacity() > kKeptBytesMax) response_.body = {};
  parser_.reset(exchange.answers_head);
  if (state_ == State::fresh) {
    deadline_ = now + settings_.connect_timeout;
    connect();
  } else {
    deadline_ = now + settings_.answer_timeout;
    send_request();
  }
}

void OriginConnection::connect() {
  state_ = State::connecting;
  boost::system::error_code ignored;
  const boost::asio::ip::tcp::endpoint address(
      boost::asio::ip::make_address(settings_.address.address, ignored), settings_.address.port);
  socket_.async_connect(address, [self = shared_from_this()](
                                     const boost::system::error_code& error) {
    if (self->state_ != State::connecting) return;
    if (error) {
      self->finish(ExchangeEnd::not_sent, State::closed);
      return;
    }
    boost::system::error_code failed;
    self->socket_.non_blocking(true, failed);
    self->socket_.set_option(boost::asio::ip::tcp::no_delay(true), failed);
    self->deadline_ = std::chrono::steady_clock::now() + self->settings_.answer_timeout;
    self->read_some();
    self->send_request();
  });
}

void OriginConnection::send_request() {
  state_ = State::busy;
  write_on();
}

// The request is written as far as the socket takes it. An error shows on the reading side as
// well, where an early answer (as 413) may lie in front of it: that one decides. Only when
// nothing at all has left is the case clear at once.
void OriginConnection::write_on() {
  while (sent_ < exchange_->wire.size()) {
    boost::system::error_code error;
    const std::string_view unsent = exchange_->wire.substr(sent_);
    const std::size_t size =
        socket_.write_some(boost::asio::buffer(unsent.data(), unsent.size()), error);
    if (error == boost::asio::error::would_block) {
      socket_.async_wait(decltype(socket_)::wait_write,
                         [self = shared_from_this(), exchange = exchange_](
                             const boost::system::error_code& failed) {
                           const bool current = self->state_ == State::busy &&
                                                self->exchange_ == exchange;
                           if (!failed && current) self->write_on();
                         });
      return;
    }
    if (error) {
      if (sent_ == 0) finish(reused_ ? ExchangeEnd::stale : ExchangeEnd::not_sent, State::closed);
      return;
    }
    sent_ += size;
  }
}

void OriginConnection::read_some() {
  socket_.async_read_some(boost::asio::buffer(input_), [self = shared_from_this()](
                                                           const boost::system::error_code& error,
                                                           std::size_t size) {
    if (self->state_ != State::closed) self->handle_read(error, size);
  });
}

void OriginConnection::handle_read(const boost::system::error_code& error, std::size_t size) {
  if (state_ == State::idle) {  // hung up on, or bytes that nobody asked for
    close();
    if (owner_ != nullptr) owner_->on_idle_closed(*this);
    return;
  }
  ASSERT(state_ == State::busy);
  if (error) {
    handle_end_of_stream();
    return;
  }
  answer_begun_ = true;
  feed({input_.data(), size});
}

void OriginConnection::feed(std::string_view input) {
  for (;;) {
    const http::ParseProgress progress = parser_.feed(input);
    input.remove_prefix(progress.consumed);
    switch (progress.state) {
      case http::ParseState::head_done:
        continue;
      case http::ParseState::need_more:
        read_some();
        return;
      case http::ParseState::failed:
        finish(ExchangeEnd::malformed, State::closed);
        return;
      case http::ParseState::complete:
        // Bytes behind the answer, or an answer before the request was through: the connection
        // cannot carry another exchange.
        const bool reusable =
            response_.keep_alive && input.empty() && sent_ == exchange_->wire.size();
        if (reusable) read_some();
        finish(ExchangeEnd::answered, reusable ? State::idle : State::closed);
        return;
    }
  }
}

void OriginConnection::handle_end_of_stream() {
  if (!answer_begun_) {
    finish(reused_ ? ExchangeEnd::stale : ExchangeEnd::broken, State::closed);
    return;
  }
  // Some bodies end with the connection; any other is cut short.
  const bool whole = parser_.finish().state == http::ParseState::complete;
  finish(whole ? ExchangeEnd::answered : ExchangeEnd::broken, State::closed);
}

void OriginConnection::check_deadline(TimePoint now) {
  if (exchange_ == nullptr || now < deadline_) return;
  const bool unsent = state_ == State::connecting || sent_ == 0;
  finish(unsent ? ExchangeEnd::not_sent : ExchangeEnd::timed_out, State::closed);
}

void OriginConnection::finish(ExchangeEnd end, State next) {
  OriginExchange* exchange = std::exchange(exchange_, nullptr);
  ASSERT(exchange != nullptr);
  if (next == State::closed) {
    close();
  } else {
    state_ = next;
    reused_ = true;
    idle_since_ = std::chrono::steady_clock::now();
  }
  if (owner_ != nullptr) owner_->on_connection_end(*this, *exchange, end);
}

void OriginConnection::abandon() {
  owner_ = nullptr;
  exchange_ = nullptr;
  close();
}

void OriginConnection::close() {
  state_ = State::closed;
  boost::system::error_code error;
  socket_.close(error);
}

}  // namespace prophecy::pbft

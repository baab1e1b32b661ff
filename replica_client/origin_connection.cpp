#include "replica_client/origin_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "base/assert.hpp"

namespace prophecy::replica_client {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
// A body that was larger is given back to the system rather than kept for the next answer.
constexpr std::size_t kBodyKeptBytesMax = 64 << 10;
}  // namespace

OriginConnection::OriginConnection(OriginPool& pool, asio::io_context& loop)
    : pool_(pool), socket_(loop), parser_(response_, pool.settings_.limits) {}

void OriginConnection::open(FastCall& call) {
  call_ = &call;
  call.connection_ = this;
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
  if (error) return fail(FastFailure::connect);
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  disarm();
  state_ = State::idle;
  FastCall& call = *call_;
  call_ = nullptr;
  send(call);
}

void OriginConnection::send(FastCall& call) {
  ASSERT(state_ == State::idle && call_ == nullptr);
  disarm();
  state_ = State::busy;
  call_ = &call;
  call.connection_ = this;
  answer_begun_ = false;
  parser_.reset(call.is_head_);
  unsent_ = call.wire_;
  write();
  if (fresh_ && state_ == State::busy) read();
}

void OriginConnection::write() {
  error_code error;
  const std::size_t size = socket_.write_some(asio::buffer(unsent_.data(), unsent_.size()), error);
  if (error && error != asio::error::would_block) return fail(FastFailure::closed);
  if (!error) unsent_.remove_prefix(size);
  if (unsent_.empty()) return;
  ++pending_;
  socket_.async_wait(asio::ip::tcp::socket::wait_write, [this](const error_code& failure) {
    --pending_;
    on_written(failure, 0);
    operation_ended();
  });
}

void OriginConnection::on_written(const error_code& error, std::size_t /*size*/) {
  if (state_ != State::busy) return;
  if (error) return fail(FastFailure::closed);
  if (!unsent_.empty()) write();
}

// One read is pending for as long as the connection is open, so that the origin's closing of an
// idle connection is seen at once.
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
    case State::idle:  // closed by the origin, or bytes that nobody asked for
      return close();
    case State::busy:
      break;
    case State::connecting:
      UNREACHABLE();
  }
  if (!error) return on_bytes({input_.data(), size});
  if (error == asio::error::eof && answer_begun_ &&
      parser_.finish().state == http::ParseState::complete) {
    return complete(false);
  }
  fail(FastFailure::closed);
}

void OriginConnection::on_bytes(std::string_view input) {
  answer_begun_ = true;
  for (;;) {
    const http::ParseProgress progress = parser_.feed(input);
    input.remove_prefix(progress.consumed);
    switch (progress.state) {
      case http::ParseState::head_done:
        continue;
      case http::ParseState::need_more:
        return;
      case http::ParseState::failed:
        return fail(parser_.failure().status == 413 ? FastFailure::too_large
                                                    : FastFailure::malformed);
      case http::ParseState::complete:
        // Bytes behind the answer would be taken for the next one.
        if (!input.empty()) return fail(FastFailure::malformed);
        return complete(response_.keep_alive && unsent_.empty());
    }
  }
}

void OriginConnection::complete(bool reusable) {
  FastCall& call = *call_;
  call_ = nullptr;
  call.connection_ = nullptr;
  call.pool_ = nullptr;
  call.disarm();
  fresh_ = false;
  // The handler runs before the connection is offered to other calls, which would overwrite the
  // response.
  call.handler_->on_fast_answer(response_);
  if (response_.body.capacity() > kBodyKeptBytesMax) std::string().swap(response_.body);
  if (!reusable) return close();
  state_ = State::idle;
  pool_.timeouts_.idle.arm(*this, std::chrono::steady_clock::now());
  pool_.on_connection_idle(*this);
}

void OriginConnection::fail(FastFailure failure) {
  FastCall* call = std::exchange(call_, nullptr);
  const bool stale = !fresh_ && !answer_begun_ && failure == FastFailure::closed;
  close();
  if (call == nullptr) return;
  call->connection_ = nullptr;
  if (stale && !call->retried_) {
    call->retried_ = true;
    return pool_.place(*call, true);
  }
  pool_.fail(*call, failure);
}

void OriginConnection::abandon() {
  call_ = nullptr;
  close();
}

void OriginConnection::on_timeout() {
  if (state_ == State::connecting) return fail(FastFailure::connect);
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

}  // namespace prophecy::replica_client

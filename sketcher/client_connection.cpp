#include "sketcher/client_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <poll.h>

#include "base/assert.hpp"
#include "sketcher/date.hpp"

namespace prophecy::sketcher {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

// What an idle connection holds while it waits; a body is read in larger pieces.
constexpr std::size_t kIdleBufferBytes = 4 << 10;
constexpr std::size_t kBodyBufferBytes = 64 << 10;
constexpr std::size_t kKeptBytesMax = 4 << 10;
constexpr std::size_t kLingerBytesMax = 1 << 20;

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// Whether the connection was reset, or has ended in both directions. A client that has merely
// closed it cannot be told from one that has ended its sending and waits, until we write to it.
bool has_left(int socket) {
  pollfd events{socket, 0, 0};  // POLLERR and POLLHUP are always told
  return ::poll(&events, 1, 0) > 0 && events.revents != 0;
}

}  // namespace

ClientConnection::ClientConnection(tcp::socket socket, std::string address, WorkerContext& context,
                                   ConnectionTimeouts& timeouts, DateCache& date,
                                   ConnectionOwner& owner)
    : socket_(std::move(socket)),
      address_(std::move(address)),
      context_(context),
      timeouts_(timeouts),
      date_(date),
      owner_(owner),
      parser_(request_, context.settings.limits.request),
      exchange_(context, *this),
      input_(kIdleBufferBytes, '\0') {}

ClientConnection::~ClientConnection() = default;

void ClientConnection::start() {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  timeouts_.header.arm(*this, now());
  read();
}

void ClientConnection::read() {
  if (read_pending_) return;
  read_pending_ = true;
  ++pending_;
  socket_.async_read_some(asio::buffer(input_.data() + input_end_, input_.size() - input_end_),
                          [this](const error_code& error, std::size_t size) {
                            read_pending_ = false;
                            --pending_;
                            on_read(error, size);
                            operation_ended();
                          });
}

void ClientConnection::on_read(const error_code& error, std::size_t size) {
  if (state_ == State::closed) return;
  if (error) return close();
  if (!reading()) {
    // A read that was under way when a time-out ended the request: our last answer is on its way.
    ASSERT(state_ == State::lingering || (state_ == State::flushing && !keep_alive_));
    discarded_ += size;
    if (discarded_ > kLingerBytesMax) return close();
    return state_ == State::lingering ? read() : void();
  }
  if (state_ == State::body) timeouts_.body.arm(*this, now());
  if (state_ == State::head && parser_.idle()) timeouts_.header.arm(*this, now());
  input_end_ += size;
  process_input();
}

void ClientConnection::process_input() {
  processing_ = true;
  bool more_wanted = false;
  while (reading() && !more_wanted) {
    const http::ParseProgress progress =
        parser_.feed({input_.data() + input_begin_, input_end_ - input_begin_});
    input_begin_ += progress.consumed;
    switch (progress.state) {
      case http::ParseState::need_more:
        ASSERT(input_begin_ == input_end_);
        more_wanted = true;
        break;
      case http::ParseState::head_done:
        on_head();
        break;
      case http::ParseState::failed:
        context_.requests.back().refused.add();
        refuse(parser_.failure().status, parser_.failure().reason);
        break;
      case http::ParseState::complete:
        disarm();
        state_ = State::exchanging;
        keep_alive_ = request_.keep_alive && !draining_;
        exchange_.start(request_, address_);
        if (state_ == State::exchanging) timeouts_.presence.arm(*this, now());
        break;
    }
  }
  processing_ = false;
  if (input_begin_ == input_end_) input_begin_ = input_end_ = 0;
  if (reading()) read();
}

void ClientConnection::on_head() {
  state_ = State::body;
  timeouts_.body.arm(*this, now());
  if (parser_.expects_continue()) {
    output_ += "HTTP/1.1 100 Continue\r\n\r\n";
    // Some twenty bytes on a socket that is otherwise quiet: what it does not take now goes out
    // in front of the answer.
    error_code ignored;
    output_begin_ += socket_.write_some(
        asio::buffer(output_.data() + output_begin_, output_.size() - output_begin_), ignored);
  }
  if (input_.size() < kBodyBufferBytes && input_end_ == input_.size()) {
    input_.resize(kBodyBufferBytes);
  }
}

AnswerFraming ClientConnection::framing() const {
  return {.answers_head = request_.method == "HEAD",
          .keep_alive = keep_alive_,
          .version_minor = request_.version_minor,
          .conditions = http::is_read_method(request_.method) ? &request_.fields : nullptr,
          .date = date_.now()};
}

void ClientConnection::on_answer(const sketch::AnswerForm& form,
                                 const std::optional<Sketch>& sketch) {
  append_answer(output_, form, sketch, framing());
  answered();
}

void ClientConnection::on_error(std::uint16_t status, std::string_view reason) {
  // What we do not understand or cannot serve as asked may be the start of something worse.
  if (status < 500) keep_alive_ = false;
  append_error(output_, status, reason, framing());
  answered();
}

void ClientConnection::refuse(std::uint16_t status, std::string_view reason) {
  state_ = State::exchanging;
  keep_alive_ = false;
  append_error(output_, status, reason, framing());
  answered();
}

void ClientConnection::answered() {
  ASSERT(state_ == State::exchanging);
  state_ = State::flushing;
  flush();
}

void ClientConnection::flush() {
  while (output_begin_ < output_.size()) {
    error_code error;
    output_begin_ += socket_.write_some(
        asio::buffer(output_.data() + output_begin_, output_.size() - output_begin_), error);
    if (error == asio::error::would_block) {
      timeouts_.send.arm(*this, now());
      ++pending_;
      socket_.async_wait(tcp::socket::wait_write, [this](const error_code& failure) {
        --pending_;
        on_writable(failure);
        operation_ended();
      });
      return;
    }
    if (error) return close();
  }
  output_.clear();
  output_begin_ = 0;
  if (keep_alive_) {
    next_request();
  } else {
    linger();
  }
}

void ClientConnection::on_writable(const error_code& error) {
  if (state_ != State::flushing) return;
  if (error) return close();
  flush();
}

void ClientConnection::next_request() {
  parser_.reset();
  exchange_.shrink();
  request_.fields.clear_and_shrink(kKeptBytesMax);
  if (request_.body.capacity() > kKeptBytesMax) std::string().swap(request_.body);
  if (output_.capacity() > kKeptBytesMax) std::string().swap(output_);
  if (input_begin_ == input_end_) {
    input_begin_ = input_end_ = 0;
    if (input_.size() > kIdleBufferBytes) std::string(kIdleBufferBytes, '\0').swap(input_);
  }
  state_ = State::head;
  if (draining_) return linger();
  (input_begin_ == input_end_ ? timeouts_.idle : timeouts_.header).arm(*this, now());
  if (!processing_) process_input();
}

void ClientConnection::linger() {
  state_ = State::lingering;
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  timeouts_.linger.arm(*this, now());
  input_begin_ = input_end_ = 0;
  read();
}

// A fast read is left alone: it ends soon enough, and to give it up would cost a connection to the
// origin.
void ClientConnection::look_for_client() {
  if (exchange_.asks_group() && has_left(socket_.native_handle())) return close();
  timeouts_.presence.arm(*this, now());
}

void ClientConnection::on_timeout() {
  if (state_ == State::exchanging) return look_for_client();
  if (state_ == State::lingering || state_ == State::flushing || parser_.idle()) {
    if (state_ == State::flushing) context_.counters.timeouts.add();
    return close();
  }
  context_.counters.timeouts.add();
  context_.requests.back().refused.add();
  refuse(408, "request-timeout");
}

void ClientConnection::drain() {
  draining_ = true;
  keep_alive_ = false;
  if (state_ == State::head && parser_.idle() && input_begin_ == input_end_) linger();
}

void ClientConnection::close() {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  exchange_.abandon();
  error_code ignored;
  socket_.close(ignored);
  // Closing counts as an operation: whoever closes is in the middle of this object's code.
  ++pending_;
  asio::post(socket_.get_executor(), [this] {
    --pending_;
    operation_ended();
  });
}

void ClientConnection::operation_ended() {
  if (state_ == State::closed && pending_ == 0) owner_.on_connection_closed(*this);
}

}  // namespace prophecy::sketcher

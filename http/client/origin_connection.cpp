#include "http/client/origin_connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <boost/asio/post.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.hpp"
#include "http/proxy_header.hpp"

namespace prophecy::http {

namespace asio = boost::asio;
using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kBuffersMax = 16;  // requests in one write
// Of a request's body that is not in memory. What the socket does not take is read once more.
constexpr std::size_t kBodyPieceBytes = 64 << 10;
// Then others have their turn.
constexpr int kWritesMax = 16;
// An origin that takes them in no less than its time for an answer holds a write up for as long.
constexpr std::uint64_t kExtendingBytes = 8 << 20;
// One read of anything else: on the stack, and in the cache likewise.
constexpr std::size_t kReadBytes = 8 << 10;
// One read of a body. It stays in the processor's cache until it is looked at.
constexpr std::size_t kBodyReadBytes = 64 << 10;
// What its reader would not keep for the next answer.
constexpr std::size_t kPooledBodyBytesMin = AnswerReaders::kBodyBytesMax;
// Beyond so many reads, others have their turn.
constexpr int kReadsMax = 8;

IpAddress ip_address(const asio::ip::tcp::endpoint& endpoint) {
  const asio::ip::address address = endpoint.address();
  if (address.is_v4()) return IpAddress(address.to_v4().to_bytes());
  return IpAddress(address.to_v6().to_bytes());
}

// What this process or machine lacks says nothing of the origin.
bool is_ours(int error) {
  return error == EMFILE || error == ENFILE || error == EADDRNOTAVAIL || error == ENOMEM ||
         error == ENOBUFS || error == ENOSPC;
}

UniqueFd open_socket(const asio::ip::tcp::endpoint& address) {
  return UniqueFd(
      ::socket(address.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

ExchangeEnd failed_by(transport::PeerFault fault) {
  switch (fault) {
    case transport::PeerFault::none:
      return ExchangeEnd::tls_failed;
    case transport::PeerFault::untrusted:
      return ExchangeEnd::untrusted;
    case transport::PeerFault::expired:
      return ExchangeEnd::expired;
    case transport::PeerFault::wrong_name:
      return ExchangeEnd::wrong_name;
  }
  UNREACHABLE();
}

}  // namespace

OriginConnection::OriginConnection(OriginPool& pool)
    : pool_(pool),
      stream_(open_socket(pool.address_)),
      connect_error_(stream_.descriptor() < 0 ? errno : 0),
      held_(pool.settings_.coming, *this) {}

OriginConnection::Carried::Carried(OriginExchange& of)
    : exchange(&of),
      wire(of.request_.wire),
      body(of.request_.body),
      body_begin(of.request_.body_begin),
      sent(0),
      size(wire.size() + (body != nullptr ? body->size() - body_begin : 0)),
      answers_head(of.request_.answers_head),
      verified(of.request_.verified),
      pipelined(of.request_.pipelined),
      piece_bytes(of.request_.piece_bytes),
      streamed(of.request_.streamed),
      whole_bytes(of.request_.whole_bytes) {}

void OriginConnection::open(OriginExchange& exchange) {
  const TimePoint now = std::chrono::steady_clock::now();
  carry(exchange, now);
  pool_.timeouts_.connect.arm(*this, now);
  if (connect_error_ == 0) connect_error_ = start_connecting();
  // Told in a turn of its own, as any other end is.
  if (connect_error_ != 0) pool_.readiness_.call_again(*this);
}

int OriginConnection::start_connecting() {
  const int socket = stream_.descriptor();
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const auto& address = pool_.address_;
  if (::connect(socket, address.data(), static_cast<socklen_t>(address.size())) != 0 &&
      errno != EINPROGRESS) {
    return errno;
  }
  return pool_.readiness_.add(socket, *this) ? 0 : errno;
}

void OriginConnection::on_ready(std::uint32_t events) {
  stream_.note(events);
  if (state_ == State::connecting) {
    if (stream_.tls() != nullptr) {
      shake_hands();
    } else if (connect_error_ != 0) {
      return on_connected(connect_error_);
    } else if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) {
      int error = 0;
      socklen_t size = sizeof error;
      if (::getsockopt(stream_.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
      }
      on_connected(error);
    }
    if (state_ == State::connecting) return;
  }
  if (std::exchange(gives_way_, false) && state_ == State::busy && held_.bytes() > 0) {
    return fail(ExchangeEnd::shed);
  }
  if (write_blocked_) write();
  read();
}

void OriginConnection::give_way() {
  gives_way_ = true;
  pool_.readiness_.call_again(*this);
}

// What a spare reader may keep is not worth a look at the clock.
void OriginConnection::note_held() {
  const std::size_t bytes = reader_->response.body.capacity();
  if (bytes <= kPooledBodyBytesMin) return note_none_held();
  if (bytes != held_.bytes()) held_.set(bytes, std::chrono::steady_clock::now());
}

void OriginConnection::on_connected(int error) {
  if (error != 0) return fail(is_ours(error) ? ExchangeEnd::overloaded : ExchangeEnd::not_sent);
  if (!announce()) return fail(ExchangeEnd::not_sent);
  if (pool_.settings_.tls == nullptr) return on_established();
  auto channel = pool_.settings_.tls->connect(stream_.socket());
  if (!channel) return fail(ExchangeEnd::not_sent);
  stream_.secure(std::move(channel));
  tls_generation_ = pool_.settings_.tls->generation();
  shake_hands();
}

void OriginConnection::shake_hands() {
  switch (stream_.tls()->handshake()) {
    case transport::IoStatus::done:
      return on_established();
    case transport::IoStatus::blocked:
      return;
    default:
      return fail(failed_by(stream_.tls()->peer_fault()));
  }
}

void OriginConnection::on_established() {
  disarm();
  state_ = State::busy;
  note_first(std::chrono::steady_clock::now());
  write();
}

bool OriginConnection::announce() {
  const ProxyAnnouncement version = pool_.settings_.send_proxy;
  if (version == ProxyAnnouncement::none) return true;
  asio::ip::tcp::endpoint own;
  auto size = static_cast<socklen_t>(own.capacity());
  if (::getsockname(stream_.descriptor(), own.data(), &size) != 0) return false;
  own.resize(size);
  const ProxiedConnection connection{.source = ip_address(own),
                                     .destination = ip_address(pool_.address_),
                                     .source_port = own.port(),
                                     .destination_port = pool_.address_.port()};
  std::string header;
  if (version == ProxyAnnouncement::v2) {
    // Not "LOCAL", which Apache up to 2.4.68 at least refuses.
    append_proxy_header_v2(header, connection);
  } else {
    append_proxy_header_v1(header, connection);
  }
  return stream_.write(header).size == header.size();
}

void OriginConnection::send(OriginExchange& exchange) {
  // Not may_share() again: time goes on.
  ASSERT(state_ == State::idle || (state_ == State::busy && !carried_.empty()));
  const TimePoint now = std::chrono::steady_clock::now();
  carry(exchange, now);
  if (state_ == State::idle) {
    disarm();
    state_ = State::busy;
    note_first(now);
  }
  if (carried_.size() > 1) {
    is_doubtful_ = true;
    pool_.watch(now);
  }
  if (flush_pending_ || write_blocked_) return;
  if (pool_.settings_.pipeline_max == 1 || !exchange.request_.pipelined) return write();
  flush_pending_ = true;
  ++pending_;
  pool_.flush_later(*this);
}

void OriginConnection::flush() {
  flush_pending_ = false;
  --pending_;
  if (state_ == State::busy) write();
  operation_ended();
}

bool OriginConnection::is_outdated() const {
  const transport::TlsClient* const tls = pool_.settings_.tls;
  return tls != nullptr && tls->generation() != tls_generation_;
}

bool OriginConnection::may_take(const OriginExchange& exchange) const {
  return !is_outdated() && (!is_doubtful_ || exchange.request_.verified);
}

bool OriginConnection::has_sent(const OriginExchange& exchange) const {
  const auto found = std::find_if(carried_.begin(), carried_.end(),
                                  [&](const Carried& one) { return one.exchange == &exchange; });
  return found != carried_.end() && found->sent > 0;
}

// The requests are written as far as the socket takes them. An error shows on the reading side as
// well, where an early answer (a 413, say) may lie in front of it: that one decides. Only when
// nothing at all has left is the case clear at once.
void OriginConnection::write() {
  write_blocked_ = false;
  if (state_ != State::busy) return;
  for (int writes = 0; !carried_.empty() && !carried_.back().is_sent(); ++writes) {
    if (writes == kWritesMax) {
      write_blocked_ = true;
      return pool_.readiness_.call_again(*this);
    }
    const IoStatus status = write_some();
    if (status == IoStatus::done) continue;
    if (status == IoStatus::blocked) {
      write_blocked_ = true;
    } else if (status == IoStatus::ended) {
      fail(ExchangeEnd::broken);
    } else if (carried_.front().sent == 0) {
      fail(reused_ ? ExchangeEnd::stale : ExchangeEnd::not_sent);
    }
    return;
  }
}

IoStatus OriginConnection::write_body(Carried& one) {
  std::string& piece = pool_.piece_;
  piece.resize(std::min<std::uint64_t>(one.size - one.sent, kBodyPieceBytes));
  const std::uint64_t sent = one.sent - one.wire.size();
  if (!one.body->read(one.body_begin + sent, piece)) return IoStatus::ended;
  const IoResult result = stream_.write(piece);
  one.sent += result.size;
  const bool extends = sent / kExtendingBytes != (sent + result.size) / kExtendingBytes;
  if (extends && one.exchange != nullptr) one.exchange->extend();
  return result.status;
}

IoStatus OriginConnection::write_tls() {
  for (Carried& one : carried_) {
    while (one.sent < one.wire.size()) {
      const IoResult result = stream_.write(one.wire.substr(one.sent));
      one.sent += result.size;
      if (result.status != IoStatus::done) return result.status;
    }
  }
  return IoStatus::done;
}

IoStatus OriginConnection::write_some() {
  const auto first = std::find_if(carried_.begin(), carried_.end(),
                                  [](const Carried& one) { return !one.is_sent(); });
  if (first->sent >= first->wire.size()) return write_body(*first);
  if (stream_.tls() != nullptr) return write_tls();
  std::array<iovec, kBuffersMax> buffers;
  std::size_t count = 0;
  for (auto one = first; one != carried_.end() && count < buffers.size(); ++one) {
    buffers[count++] = {const_cast<char*>(one->wire.data() + one->sent),
                        one->wire.size() - one->sent};
  }
  const IoResult result = stream_.socket().send(std::span(buffers.data(), count));
  std::size_t size = result.size;
  for (auto one = first; size > 0; ++one) {
    const std::size_t taken = std::min(size, one->wire.size() - one->sent);
    one->sent += taken;
    size -= taken;
  }
  return result.status;
}

void OriginConnection::read() {
  reading_ = true;
  std::array<char, kReadBytes> input;
  for (int reads = 0; state_ != State::closed && !paused_; ++reads) {
    if (stream_.tls() == nullptr && !stream_.socket().readable()) break;
    if (reads == kReadsMax) {
      reading_ = false;
      return pool_.readiness_.call_again(*this);
    }
    const std::span<char> room = read_buffer(input);
    const IoResult result = stream_.read(room.data(), room.size());
    if (reads_body_) reader_->response.body.resize(body_bytes_ + result.size);
    if (result.status == IoStatus::blocked) break;
    on_read(result.status, {room.data(), result.size});
  }
  reading_ = false;
  if (state_ == State::answered) on_nothing_behind_answer();
}

void OriginConnection::resume() {
  paused_ = false;
  // Not from the caller's code, which what is read may reach.
  if (!reading_) pool_.readiness_.call_again(*this);
}

void OriginConnection::begin_answer() {
  reader_ = pool_.readers_.take();
  const Carried& first = carried_.front();
  if (first.piece_bytes == 0) return reader_->parser.reset(first.answers_head);
  reader_->parser.reset_in_pieces(first.answers_head,
                                  first.whole_bytes > 0 ? first.whole_bytes : SIZE_MAX);
}

std::span<char> OriginConnection::read_buffer(std::span<char> input) {
  const std::uint64_t left =
      state_ == State::busy && reader_ ? reader_->parser.plain_bytes_left() : 0;
  reads_body_ = left > 0;
  if (!reads_body_) return input;
  std::string& body = reader_->response.body;
  body_bytes_ = body.size();
  std::size_t room = kBodyReadBytes;
  // No further than to the end of the piece, so that it can be taken out as it is.
  const std::size_t piece_bytes = carried_.front().piece_bytes;
  if (piece_bytes > body_bytes_) room = std::min(room, piece_bytes - body_bytes_);
  body.resize(body_bytes_ + std::min<std::uint64_t>(left, room));
  return std::span(body).subspan(body_bytes_);
}

void OriginConnection::on_read(IoStatus status, std::string_view bytes) {
  switch (state_) {
    case State::closed:
      return;
    case State::answered:
    case State::idle:  // hung up on, or bytes that nobody asked for
      return close();
    case State::busy:
      if (status != IoStatus::done) return on_end_of_stream(status == IoStatus::ended);
      return reads_body_ ? on_body_bytes(bytes.size()) : on_bytes(bytes);
    case State::connecting:
      UNREACHABLE();
  }
}

void OriginConnection::on_bytes(std::string_view input) {
  // Every answer ends with a handler, which may close this connection or add to it.
  while (state_ == State::busy) {
    if (!carried_.may_begin()) return fail(ExchangeEnd::malformed);  // not asked yet
    if (!reader_) begin_answer();
    const ParseProgress progress = reader_->parser.feed(input);
    input.remove_prefix(progress.consumed);
    switch (progress.state) {
      case ParseState::head_done:
        on_head();
        continue;
      case ParseState::need_more:
        return report_progress();
      case ParseState::failed:
        return fail(reader_->parser.failure().body_too_large ? ExchangeEnd::too_large
                                                             : ExchangeEnd::malformed);
      case ParseState::complete:
        // Bytes behind the answer that nobody has asked for would be taken for a later one's.
        if (!input.empty() && !carried_.may_go_on()) return fail(ExchangeEnd::malformed);
        on_answer_complete();
        if (input.empty()) return;
    }
  }
}

void OriginConnection::on_body_bytes(std::size_t size) {
  if (reader_->parser.on_plain_bytes(size) == ParseState::complete) return on_answer_complete();
  report_progress();
}

void OriginConnection::on_head() {
  Carried& first = carried_.front();
  const std::uint64_t left = reader_->parser.plain_bytes_left();
  if (left > 0 && left <= first.whole_bytes) first.piece_bytes = first.whole_bytes = 0;
  if (first.piece_bytes > 0) {
    if (left > first.whole_bytes) first.whole_bytes = 0;
    if (first.whole_bytes == 0 && first.exchange != nullptr)
      first.exchange->handler_->on_exchange_progress(*first.exchange, reader_->response);
    if (state_ == State::busy && !carried_.empty()) make_room();
    return;
  }
  make_room();
}

void OriginConnection::make_room() {
  std::uint64_t size = reader_->parser.plain_bytes_left();
  if (const std::size_t piece = carried_.front().piece_bytes; piece > 0) {
    size = std::min<std::uint64_t>(size, piece);
  }
  std::string& body = reader_->response.body;
  if (size < kPooledBodyBytesMin || !body.empty() || body.capacity() >= size) return;
  pool_.bodies_.take(body, size);
  body.reserve(size);
  note_held();
}

void OriginConnection::report_progress() {
  Carried& first = carried_.front();
  note_held();
  if (first.piece_bytes == 0 || first.whole_bytes > 0) return;
  if (reader_->response.body.size() < (first.streamed ? 1 : first.piece_bytes)) return;
  if (first.exchange != nullptr)
    first.exchange->handler_->on_exchange_progress(*first.exchange, reader_->response);
  if (state_ != State::busy || carried_.empty()) return;
  // The handler has taken it out, or keeps it there for what is to come.
  if (reader_->response.body.empty()) note_none_held();
  make_room();
}

void OriginConnection::on_answer_complete() {
  const Carried& first = carried_.front();
  is_doubtful_ |= first.answers_head;
  // An answer before the request was through: the rest must not follow. Behind an unverified HEAD
  // usually comes one more that could not follow it here.
  on_answered(reader_->response.keep_alive && first.is_sent() &&
              (!first.answers_head || first.verified));
}

void OriginConnection::on_end_of_stream(bool orderly) {
  if (!reader_) return fail(reused_ ? ExchangeEnd::stale : ExchangeEnd::broken);
  // Some bodies end with the connection, if that ends well; any other is cut short. An origin that
  // closes with requests unread resets the connection, which can cost the end of what it sent.
  const bool alone = carried_.size() == 1;
  if (orderly && alone && reader_->parser.finish().state == ParseState::complete)
    return on_answered(false);
  fail(ExchangeEnd::broken);
}

void OriginConnection::on_answered(bool reusable) {
  const Carried answered = carried_.pop();
  OriginExchange* const exchange = answered.exchange;
  // What is behind it is verified, since it was pipelined.
  const Closing closing = answered.is_sent() ? Closing::abort : Closing::orderly;
  note_answered(answered);
  std::unique_ptr<AnswerReader> reader = std::move(reader_);
  if (exchange != nullptr) exchange->connection_ = nullptr;
  reused_ = true;
  paused_ = false;
  is_late_ = false;
  // The connection cannot carry another exchange before the handler has seen the response. Answers
  // that nobody waits for any more are not worth waiting for.
  const bool unwanted = !carried_.empty() && !carried_.is_wanted();
  if (!reusable || unwanted) close_and_put_back(true, closing);
  if (exchange != nullptr) pool_.end(*exchange, ExchangeEnd::answered, reader->response);
  note_none_held();
  give_back(std::move(reader));
  if (state_ == State::closed) return;
  if (!carried_.empty()) {
    note_first(std::chrono::steady_clock::now());
    return pool_.serve_queue();
  }
  state_ = State::answered;
}

void OriginConnection::on_nothing_behind_answer() {
  state_ = State::idle;
  pool_.timeouts_.idle.arm(*this, std::chrono::steady_clock::now());
  pool_.on_connection_idle(*this);
}

void OriginConnection::fail(ExchangeEnd end) {
  OriginExchange* const exchange = carried_.pop().exchange;
  if (exchange != nullptr) exchange->connection_ = nullptr;
  const std::unique_ptr<AnswerReader> reader = std::move(reader_);
  // One that nothing was asked on has closed for want of that.
  const bool is_closed = end == ExchangeEnd::stale || end == ExchangeEnd::broken;
  if (is_closed && !carried_.empty()) {
    pool_.pace_->on_closed(answered_, carried_.size(), std::chrono::steady_clock::now());
  }
  close_and_put_back(false);
  if (exchange != nullptr) {
    pool_.end(*exchange, end, reader ? reader->response : pool_.no_response_);
  }
}

void OriginConnection::give_back(std::unique_ptr<AnswerReader> reader) {
  std::string& body = reader->response.body;
  if (body.capacity() > kPooledBodyBytesMin) pool_.bodies_.give_back(body);
  pool_.readers_.give_back(std::move(reader));
}

// A record of a request may be on its way although none of it counts as sent.
bool OriginConnection::is_in_record() const {
  return stream_.tls() != nullptr && write_blocked_;
}

void OriginConnection::leave(OriginExchange& exchange) {
  const bool may_abort = std::all_of(carried_.begin(), carried_.end(),
                                     [](const Carried& one) { return one.verified; });
  if (carried_.leave(find(exchange), is_in_record()) == Leaving::goes_on) return;
  close_and_put_back(false, may_abort ? Closing::abort : Closing::orderly);
}

void OriginConnection::stop() {
  for (;;) {
    const auto wanted = std::find_if(carried_.begin(), carried_.end(),
                                     [](const Carried& one) { return one.exchange != nullptr; });
    if (wanted == carried_.end()) break;
    wanted->exchange->cancel();
  }
  close();
}

AnswerQueue<OriginConnection::Carried>::iterator OriginConnection::find(
    const OriginExchange& exchange) {
  const auto found = std::find_if(carried_.begin(), carried_.end(),
                                  [&](const Carried& one) { return one.exchange == &exchange; });
  ASSERT(found != carried_.end());
  return found;
}

void OriginConnection::on_timeout() {
  if (state_ == State::connecting) return fail(ExchangeEnd::not_sent);
  close();  // idle for long enough
}

void OriginConnection::close_and_put_back(bool untouched, Closing closing) {
  // From the back to the front of the pool's queue, which keeps their order.
  while (!carried_.empty()) {
    const Carried carried = carried_.pop_back();
    if (carried.is_wanted()) pool_.put_back(*carried.exchange, untouched || !carried.has_left());
  }
  close(closing);
}

void OriginConnection::close(Closing closing) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  pool_.readiness_.forget(*this);
  note_none_held();
  closing == Closing::abort ? stream_.abort() : stream_.close();
  // Whoever closes is in the middle of this object's code.
  ++pending_;
  asio::post(pool_.loop_, [this] {
    --pending_;
    operation_ended();
  });
  pool_.on_connection_closed(*this);
}

void OriginConnection::operation_ended() {
  if (state_ == State::closed && pending_ == 0) pool_.on_connection_finished(*this);
}

}  // namespace prophecy::http

#include "pbft/transport/frame_connection.hpp"

#include <algorithm>
#include <array>

#include <boost/asio/post.hpp>

namespace prophecy::pbft {

namespace {

// Two buffers a frame; what Asio hands to one system call.
constexpr std::size_t kBuffersPerWrite = 64;
// Of frames, what is encrypted before the socket takes it: a copy.
constexpr std::size_t kEncryptedMax = 256 << 10;
constexpr std::size_t kRecordBytes = 16 << 10;  // of TLS, the most
static_assert(kEncryptedMax % kRecordBytes == 0);

}  // namespace

FrameConnection::FrameConnection(Socket socket, std::unique_ptr<LinkChannel> tls, ConnectionTag tag,
                                 const TransportSettings& settings, TransportCounters& counters,
                                 Owner& owner)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      tag_(tag),
      settings_(settings),
      counters_(counters),
      owner_(&owner),
      reader_(settings.frame_bytes_max),
      queue_(settings.queue_bytes_max, settings.queue_frames_max) {}

void FrameConnection::start() {
  started_ = std::chrono::steady_clock::now();
  boost::system::error_code ignored;
  peer_ = socket_.remote_endpoint(ignored).address();
  // The side that connects speaks first.
  if (tls_ && !shake_hands()) return;
  read_some();
}

void FrameConnection::start_with(OutgoingQueue& waiting) {
  queue_.take(waiting);
  if (!queue_.empty()) schedule_flush();
  start();
}

void FrameConnection::close(CloseReason reason) {
  if (owner_ == nullptr) return;
  Owner* owner = std::exchange(owner_, nullptr);
  counters_.dropped_not_connected += queue_.clear();
  boost::system::error_code error;
  socket_.close(error);
  if (reason != CloseReason::stopped) owner->on_closed(*this, reason);
}

bool FrameConnection::is_stalled(TimePoint now) {
  const bool read_stalls = reader_.pending() > 0 && now - frame_begun_ >= settings_.stall_timeout;
  const bool handshake_stalls = !is_secured() && now - started_ >= settings_.connect_timeout;
  return read_stalls || handshake_stalls || has_write_stalled(now);
}

std::uint64_t FrameConnection::taken_bytes() {
  return written_bytes_ - std::min<std::uint64_t>(unconfirmed_bytes(socket_), written_bytes_);
}

bool FrameConnection::has_write_stalled(TimePoint now) {
  if (!blocked_) return false;
  const std::uint64_t taken = taken_bytes();
  if (taken >= blocked_->taken + settings_.stall_bytes) {
    blocked_ = Mark{now, taken};
    return false;
  }
  return now - blocked_->time >= settings_.stall_timeout;
}

void FrameConnection::close_insecure(const std::string& reason) {
  problem_ = peer_.to_string() + ": " + reason;
  ++counters_.closed_insecure;
  close(CloseReason::insecure);
}

void FrameConnection::read_some() {
  const auto space = tls_ ? tls_->space() : reader_.space();
  socket_.async_read_some(
      boost::asio::buffer(space.data(), space.size()),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        if (!self->is_open()) return;
        if (error) {
          self->close(error == boost::asio::error::eof ? CloseReason::by_peer
                                                       : CloseReason::io_error);
        } else if (self->tls_) {
          self->handle_encrypted(size);
        } else {
          self->handle_read(size);
        }
      });
}

// The peer learns why, too, if it takes an alert of seven bytes.
bool FrameConnection::shake_hands() {
  const LinkChannel::Status status = tls_->handshake();
  const bool has_failed = status == LinkChannel::Status::failed;
  if (has_failed || status == LinkChannel::Status::ended) {
    const std::string reason = has_failed ? tls_->failure() : "it has ended the handshake";
    const ByteView last = reason == kPeerIsPlain ? refusing_alert() : tls_->output();
    boost::system::error_code ignored;
    socket_.write_some(boost::asio::buffer(last.data(), last.size()), ignored);
    close_insecure(reason);
    return false;
  }
  schedule_flush();
  if (status == LinkChannel::Status::done) owner_->on_secured(*this);
  return is_open();
}

void FrameConnection::handle_encrypted(std::size_t size) {
  tls_->filled(size);
  if (!tls_->is_secured() && !shake_hands()) return;
  while (tls_->is_secured()) {
    const auto space = reader_.space();
    const LinkChannel::Read read = tls_->read(space);
    if (read.status == LinkChannel::Status::blocked) break;
    if (read.status == LinkChannel::Status::ended) return close(CloseReason::by_peer);
    if (read.status == LinkChannel::Status::failed) return close_insecure(tls_->failure());
    if (!take_bytes(read.bytes)) return;
  }
  // (New keys of the session are answered.)
  if (!tls_->output().empty()) schedule_flush();
  read_some();
}

void FrameConnection::handle_read(std::size_t size) {
  if (!std::exchange(has_read_, true) && looks_like_tls(reader_.space().first(size))) {
    boost::system::error_code ignored;
    const ByteView alert = refusing_alert();
    socket_.write_some(boost::asio::buffer(alert.data(), alert.size()), ignored);
    return close_insecure(kPeerIsEncrypted);
  }
  if (take_bytes(size)) read_some();
}

bool FrameConnection::take_bytes(std::size_t size) {
  const bool was_pending = reader_.pending() > 0;
  counters_.bytes_received += size;
  reader_.filled(size);
  bool got_frame = false;
  ByteView frame;
  FrameReader::Next next = reader_.next(frame);
  for (; next == FrameReader::Next::frame; next = reader_.next(frame)) {
    got_frame = true;
    ++counters_.frames_received;
    owner_->on_frame(*this, frame);
    if (!is_open()) return false;
  }
  if (got_frame) owner_->on_frames_end(*this);
  if (!is_open()) return false;
  if (next == FrameReader::Next::bad_length) {
    close(CloseReason::bad_length);
    return false;
  }
  const bool is_pending = reader_.pending() > 0;
  if (is_pending && (!was_pending || got_frame)) frame_begun_ = std::chrono::steady_clock::now();
  if (is_pending || was_pending) owner_->on_bytes_held(*this);
  return is_open();
}

void FrameConnection::send(Frame frame) {
  if (!is_open()) {
    ++counters_.dropped_not_connected;
    return;
  }
  counters_.dropped_queue_full += queue_.push(std::move(frame));
  schedule_flush();
  owner_->on_bytes_held(*this);
}

bool FrameConnection::drop_oldest() {
  if (!queue_.drop_oldest()) return false;
  ++counters_.dropped_queue_full;
  return true;
}

void FrameConnection::schedule_flush() {
  if (flush_scheduled_ || waits_writable_) return;
  flush_scheduled_ = true;
  // Behind every handler that is ready by now, so that their frames go along.
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->flush_scheduled_ = false;
    if (self->is_open()) self->flush();
  });
}

bool FrameConnection::encrypt() {
  if (!tls_->is_secured() || queue_.empty()) return false;
  std::array<boost::asio::const_buffer, kBuffersPerWrite> buffers;
  const std::size_t used = queue_.gather(buffers);
  // Small frames share a record.
  std::array<std::uint8_t, kRecordBytes> record;
  std::size_t held = 0;
  std::size_t encrypted = 0;
  for (const boost::asio::const_buffer& buffer : std::span(buffers).first(used)) {
    ByteView rest(static_cast<const std::uint8_t*>(buffer.data()), buffer.size());
    while (!rest.empty() && encrypted < kEncryptedMax) {
      const std::size_t size = std::min(rest.size(), record.size() - held);
      std::copy_n(rest.begin(), size, record.begin() + static_cast<std::ptrdiff_t>(held));
      rest = rest.subspan(size);
      held += size;
      encrypted += size;
      if (held == record.size() && !tls_->write({record.data(), std::exchange(held, 0)})) break;
    }
  }
  if (!tls_->write({record.data(), held})) {
    close_insecure(tls_->failure());
    return false;
  }
  counters_.bytes_sent += encrypted;
  counters_.frames_sent += queue_.consume(encrypted);
  return true;
}

void FrameConnection::flush_encrypted() {
  do {
    for (ByteView output = tls_->output(); !output.empty(); output = tls_->output()) {
      boost::system::error_code error;
      const std::size_t size =
          socket_.write_some(boost::asio::buffer(output.data(), output.size()), error);
      if (error == boost::asio::error::would_block) {
        encrypted_bytes_ = output.size();
        return wait_writable();
      }
      if (error) return close(CloseReason::io_error);
      written_bytes_ += size;
      tls_->sent(size);
    }
    encrypted_bytes_ = 0;
  } while (encrypt());
}

void FrameConnection::flush() {
  if (tls_) {
    flush_encrypted();
  } else {
    flush_plain();
  }
  if (!is_open()) return;
  if (!waits_writable_) blocked_.reset();
  owner_->on_bytes_held(*this);
}

void FrameConnection::flush_plain() {
  std::array<boost::asio::const_buffer, kBuffersPerWrite> buffers;
  while (!queue_.empty()) {
    const std::size_t used = queue_.gather(buffers);
    boost::system::error_code error;
    const std::size_t size = socket_.write_some(std::span(buffers).first(used), error);
    if (error == boost::asio::error::would_block) {
      wait_writable();
      return;
    }
    if (error) {
      close(CloseReason::io_error);
      return;
    }
    written_bytes_ += size;
    counters_.bytes_sent += size;
    counters_.frames_sent += queue_.consume(size);
  }
}

void FrameConnection::wait_writable() {
  waits_writable_ = true;
  if (!blocked_) blocked_ = Mark{std::chrono::steady_clock::now(), taken_bytes()};
  socket_.async_wait(Socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       self->waits_writable_ = false;
                       if (!self->is_open()) return;
                       if (error) {
                         self->close(CloseReason::io_error);
                       } else {
                         self->flush();
                       }
                     });
}

}  // namespace prophecy::pbft

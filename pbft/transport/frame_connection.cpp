#include "pbft/transport/frame_connection.hpp"

#include <array>

#include <boost/asio/post.hpp>

namespace prophecy::pbft {

namespace {

// Two buffers a frame; what Asio hands to one system call.
constexpr std::size_t kBuffersPerWrite = 64;

}  // namespace

FrameConnection::FrameConnection(Socket socket, ConnectionTag tag,
                                 const TransportSettings& settings, TransportCounters& counters,
                                 Owner& owner)
    : socket_(std::move(socket)),
      tag_(tag),
      settings_(settings),
      counters_(counters),
      owner_(&owner),
      reader_(settings.frame_bytes_max),
      queue_(settings.queue_bytes_max, settings.queue_frames_max) {}

void FrameConnection::start() {
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

bool FrameConnection::is_stalled(TimePoint now) const {
  const bool read_stalls = reader_.pending() > 0 && now - frame_begun_ >= settings_.stall_timeout;
  const bool write_stalls = waits_writable_ && now - write_blocked_ >= settings_.stall_timeout;
  return read_stalls || write_stalls;
}

void FrameConnection::read_some() {
  const auto space = reader_.space();
  socket_.async_read_some(
      boost::asio::buffer(space.data(), space.size()),
      [self = shared_from_this()](const boost::system::error_code& error, std::size_t size) {
        if (!self->is_open()) return;
        if (error) {
          self->close(error == boost::asio::error::eof ? CloseReason::by_peer
                                                       : CloseReason::io_error);
        } else {
          self->handle_read(size);
        }
      });
}

void FrameConnection::handle_read(std::size_t size) {
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
    if (!is_open()) return;
  }
  if (got_frame) owner_->on_frames_end(*this);
  if (!is_open()) return;
  if (next == FrameReader::Next::bad_length) {
    close(CloseReason::bad_length);
    return;
  }
  const bool is_pending = reader_.pending() > 0;
  if (is_pending && (!was_pending || got_frame)) frame_begun_ = std::chrono::steady_clock::now();
  if (is_pending || was_pending) owner_->on_pending(*this);
  if (is_open()) read_some();
}

void FrameConnection::send(Frame frame) {
  if (!is_open()) {
    ++counters_.dropped_not_connected;
    return;
  }
  counters_.dropped_queue_full += queue_.push(std::move(frame));
  schedule_flush();
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

void FrameConnection::flush() {
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
    counters_.bytes_sent += size;
    counters_.frames_sent += queue_.consume(size);
  }
}

void FrameConnection::wait_writable() {
  waits_writable_ = true;
  write_blocked_ = std::chrono::steady_clock::now();
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

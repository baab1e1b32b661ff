#include "pbft/transport/peer_link.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

PeerLink::PeerLink(boost::asio::io_context& io, NodeId peer, Endpoint address,
                   const TransportSettings& settings, TransportCounters& counters, Handler& handler)
    : io_(io),
      peer_(peer),
      address_(std::move(address)),
      settings_(settings),
      counters_(counters),
      handler_(handler),
      socket_(io),
      timer_(io),
      backoff_(settings.backoff_min),
      waiting_(settings.queue_bytes_max, settings.queue_frames_max) {}

void PeerLink::start() {
  ASSERT(state_ == State::stopped);
  connect();
}

void PeerLink::stop() {
  state_ = State::stopped;
  ++attempt_;
  boost::system::error_code error;
  socket_.close(error);
  timer_.cancel();
  waiting_.clear();
  if (connection_) connection_->close(CloseReason::stopped);
  connection_.reset();
}

void PeerLink::send(Frame frame) {
  switch (state_) {
    case State::securing:
    case State::silent:
    case State::open:
      connection_->send(std::move(frame));
      return;
    case State::connecting:
      counters_.dropped_queue_full += waiting_.push(std::move(frame));
      return;
    case State::stopped:
    case State::backoff:
      ++counters_.dropped_not_connected;
      return;
  }
}

void PeerLink::check_stall(TimePoint now) {
  if (!connection_ || !connection_->is_stalled(now)) return;
  ++counters_.closed_stalled;
  connection_->close(CloseReason::stalled);
}

void PeerLink::connect() {
  state_ = State::connecting;
  socket_ = Socket(io_);
  const std::uint64_t attempt = ++attempt_;
  expect_within_timeout();
  socket_.async_connect(to_asio(address_), [this, attempt](const boost::system::error_code& error) {
    if (attempt == attempt_) handle_connected(error);
  });
}

void PeerLink::expect_within_timeout() {
  timer_.expires_after(settings_.connect_timeout);
  timer_.async_wait([this, attempt = attempt_](const boost::system::error_code& error) {
    if (error || attempt != attempt_) return;
    if (state_ == State::securing) return connection_->close(CloseReason::stalled);
    handle_connected(boost::asio::error::timed_out);
  });
}

void PeerLink::handle_connected(const boost::system::error_code& error) {
  ++attempt_;
  timer_.cancel();
  if (error) {
    counters_.dropped_not_connected += waiting_.clear();
    back_off();
    const bool refused = error == boost::asio::error::connection_refused;
    if (refused && std::exchange(lost_, false)) handler_.on_link_refused(peer_);
    return;
  }
  std::unique_ptr<LinkChannel> tls = settings_.tls ? settings_.tls->connect(peer_) : nullptr;
  if (settings_.tls && !tls) {  // there is no memory
    counters_.dropped_not_connected += waiting_.clear();
    return back_off();
  }
  const bool is_plain = tls == nullptr;
  prepare_connection(socket_);
  lost_ = false;
  opened_ = std::chrono::steady_clock::now();
  connection_ =
      std::make_shared<FrameConnection>(std::move(socket_), std::move(tls), 0, settings_, counters_,
                                        static_cast<FrameConnection::Owner&>(*this));
  state_ = State::securing;
  if (is_plain) {
    state_ = State::silent;
  } else {
    expect_within_timeout();
  }
  const std::shared_ptr<FrameConnection> connection = connection_;  // it may end at once
  connection->start_with(waiting_);
  if (is_plain) handler_.on_link_state(peer_, true);
}

void PeerLink::on_secured(FrameConnection& /*connection*/) {
  ++attempt_;
  timer_.cancel();
  state_ = State::silent;
  opened_ = std::chrono::steady_clock::now();
  handler_.on_link_state(peer_, true);
}

void PeerLink::back_off() {
  state_ = State::backoff;
  boost::system::error_code error;
  socket_.close(error);
  const std::uint64_t attempt = ++attempt_;
  timer_.expires_after(backoff_);
  timer_.async_wait([this, attempt](const boost::system::error_code& failed) {
    if (!failed && attempt == attempt_) connect();
  });
  backoff_ = std::min(backoff_ * 2, settings_.backoff_max);
}

void PeerLink::on_frame(FrameConnection& /*connection*/, ByteView frame) {
  if (state_ == State::silent) {
    state_ = State::open;
    handler_.on_link_open(peer_);
  }
  handler_.on_link_frame(peer_, frame);
}

void PeerLink::on_frames_end(FrameConnection& /*connection*/) {
  handler_.on_link_frames_end();
}

void PeerLink::on_closed(FrameConnection& connection, CloseReason reason) {
  if (reason == CloseReason::bad_length) ++counters_.closed_garbage;
  const bool took_frames = state_ == State::silent || state_ == State::open;
  const std::string problem = connection.problem();
  connection_.reset();
  lost_ = true;
  // Whoever accepts and hangs up at once is not worth a fresh start.
  if (std::chrono::steady_clock::now() - opened_ >= settings_.backoff_max) {
    backoff_ = settings_.backoff_min;
  }
  back_off();
  if (reason == CloseReason::insecure) handler_.on_link_insecure(peer_, problem);
  if (took_frames) handler_.on_link_state(peer_, false);
}

}  // namespace prophecy::pbft

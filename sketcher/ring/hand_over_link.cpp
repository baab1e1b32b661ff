#include "sketcher/ring/hand_over_link.hpp"

#include <array>
#include <utility>

#include <sys/socket.h>

#include "base/assert.hpp"
#include "transport/connecting.hpp"

namespace prophecy::sketcher {

using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kHandOverReadBytes = 16 << 10;

}  // namespace

HandOverLink::HandOverLink(transport::ReadinessLoop& readiness, TimeoutQueue& handshakes,
                           Owner& owner, UniqueFd socket)
    : readiness_(readiness), handshakes_(handshakes), owner_(owner), stream_(std::move(socket)) {
  transport::notice_lost_peer(stream_.descriptor());
  handshakes_.arm(*this, std::chrono::steady_clock::now());
}

HandOverLink::~HandOverLink() {
  readiness_.forget(*this);
}

// Told in a turn of its own, also when the system refuses.
void HandOverLink::connect(MakeChannel make) {
  make_ = std::move(make);
  if (!readiness_.add(stream_.descriptor(), *this)) readiness_.call_again(*this);
}

void HandOverLink::accept(const MakeChannel& make) {
  make_ = make;
  state_ = State::securing;
  if (!readiness_.add(stream_.descriptor(), *this)) readiness_.call_again(*this);
}

void HandOverLink::on_ready(std::uint32_t events) {
  stream_.note(events);
  switch (state_) {
    case State::connecting:
      if (events == 0) return close();
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) on_connected();
      return;
    case State::securing:
      return stream_.tls() == nullptr ? secure() : shake_hands();
    case State::open:
      flush();
      return state_ == State::open ? read() : void();
    case State::closed:
      return;
  }
}

void HandOverLink::on_connected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(stream_.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return close();
  state_ = State::securing;
  secure();
}

void HandOverLink::secure() {
  auto channel = make_(stream_.socket());
  if (!channel) return close();
  stream_.secure(std::move(channel));
  shake_hands();
}

void HandOverLink::shake_hands() {
  const IoStatus status = stream_.tls()->handshake();
  if (status == IoStatus::blocked) return;
  if (status != IoStatus::done || stream_.tls()->peer_has_expired()) return close(End::stranger);
  auto peer = owner_.member_of(*this, *stream_.tls());
  if (!peer) return close(End::stranger);
  peer_ = std::move(*peer);
  disarm();
  state_ = State::open;
  owner_.on_open(*this);
  if (state_ == State::open) read();
}

void HandOverLink::read() {
  std::array<char, kHandOverReadBytes> input;
  for (int reads = 0; state_ == State::open; ++reads) {
    deliver();
    if (state_ != State::open || unsent() > kUnsentMax) return;
    if (reads == transport::ByteStream::kReadsInTurn) return readiness_.call_again(*this);
    const IoResult result = stream_.read(input.data(), input.size());
    if (result.status == IoStatus::blocked) return;
    if (result.status != IoStatus::done) return close();
    if (!reader_.feed(as_bytes({input.data(), result.size}))) return close(End::malformed);
  }
}

void HandOverLink::deliver() {
  while (state_ == State::open && unsent() <= kUnsentMax) {
    auto message = reader_.take();
    if (!message) return;
    owner_.on_message(*this, std::move(*message));
  }
}

void HandOverLink::send(ByteView frame) {
  ASSERT(state_ == State::open);
  // A peer that never takes quite everything does not make us keep all that it has taken.
  if (output_begin_ > kUnsentMax) output_.erase(0, std::exchange(output_begin_, 0));
  output_.append(reinterpret_cast<const char*>(frame.data()), frame.size());
  if (unsent() >= kSentAtOnce) return flush();
  readiness_.call_again(*this);
}

void HandOverLink::flush() {
  while (state_ == State::open && unsent() > 0) {
    const IoResult result = stream_.write(std::string_view(output_).substr(output_begin_));
    if (result.status == IoStatus::failed) return close();
    output_begin_ += result.size;
    if (result.status == IoStatus::blocked && result.size == 0) return;
  }
  output_.clear();
  output_begin_ = 0;
}

void HandOverLink::close(End end) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  disarm();
  readiness_.forget(*this);
  stream_.close();
  owner_.on_closed(*this, end);
}

}  // namespace prophecy::sketcher

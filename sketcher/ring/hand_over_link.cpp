#include "sketcher/ring/hand_over_link.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.hpp"

namespace prophecy::sketcher {

using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kReadBytes = 16 << 10;
// Beyond so many, others have their turn.
constexpr int kReadsMax = 16;
// A member's machine that is gone without a word is noticed so much later, also while neither side
// has anything to send.
constexpr int kGoneMilliseconds = 30'000;
constexpr int kProbeSeconds = 10;

void notice_its_end(int socket) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kProbeSeconds, sizeof kProbeSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeSeconds, sizeof kProbeSeconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kGoneMilliseconds, sizeof kGoneMilliseconds);
}

}  // namespace

UniqueFd start_connecting(const MemberAddress& to) {
  UniqueFd fd(::socket(to.address.is_v4() ? AF_INET : AF_INET6,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_storage storage{};
  socklen_t size = 0;
  const auto& bytes = to.address.bytes();
  if (to.address.is_v4()) {
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(to.port);
    std::memcpy(&v4.sin_addr, bytes.data() + bytes.size() - sizeof v4.sin_addr, sizeof v4.sin_addr);
    size = sizeof v4;
  } else {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(to.port);
    std::memcpy(&v6.sin6_addr, bytes.data(), bytes.size());
    size = sizeof v6;
  }
  const int result = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), size);
  return result == 0 || errno == EINPROGRESS ? std::move(fd) : UniqueFd();
}

HandOverLink::HandOverLink(transport::ReadinessLoop& readiness, TimeoutQueue& handshakes,
                           Owner& owner, UniqueFd socket)
    : readiness_(readiness), handshakes_(handshakes), owner_(owner), stream_(std::move(socket)) {
  notice_its_end(stream_.descriptor());
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
  std::array<char, kReadBytes> input;
  for (int reads = 0; state_ == State::open; ++reads) {
    deliver();
    if (state_ != State::open || unsent() > kUnsentMax) return;
    if (reads == kReadsMax) return readiness_.call_again(*this);
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
  flush();
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

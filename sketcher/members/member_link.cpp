#include "sketcher/members/member_link.hpp"

#include <algorithm>
#include <array>

#include <sys/socket.h>

#include "base/assert.hpp"
#include "transport/connecting.hpp"

namespace prophecy::sketcher {

using http::Http2CallEnd;
using transport::IoResult;
using transport::IoStatus;

namespace {

constexpr std::size_t kLinkReadBytes = 64 << 10;
// Of what the kernel hands over at a time: four TLS records and what is around them.
constexpr std::size_t kLinkAheadBytes = 68 << 10;
// TLS records, one a read, whose bytes go on together: fewer calls to the kernel, and little enough
// to stay in a processor's cache.
constexpr int kReadsGathered = 4;
// Gathered at most before some of it is written.
constexpr std::size_t kLinkOutputBytesMax = 256 << 10;
constexpr std::size_t kLinkKeptBytesMax = 64 << 10;

}  // namespace

MemberLink::MemberLink(MemberLinkResources& resources, MemberLinkOwner& owner,
                       MemberCounters& counters, const std::string& name,
                       const MemberAddress& address)
    : resources_(resources),
      owner_(owner),
      counters_(counters),
      name_(name),
      stream_(transport::start_connecting(address.address, address.port)),
      connection_(*this, resources.answer_limits) {
  resources_.connect_timeouts.arm(*this, std::chrono::steady_clock::now());
  const int socket = stream_.descriptor();
  if (socket >= 0) transport::notice_lost_peer(socket);
  // Told in a turn of its own.
  if (socket < 0 || !resources_.readiness.add(socket, *this)) {
    state_ = State::closed;
    resources_.readiness.call_again(*this);
  }
}

MemberLink::~MemberLink() {
  resources_.readiness.forget(*this);
}

bool MemberLink::takes_calls() const {
  return !retired_ && state_ != State::closed && !connection_.is_worn();
}

void MemberLink::add(MemberCall& call) {
  ASSERT(takes_calls() && call.link_ == nullptr);
  call.link_ = this;
  waiting_.push_back(&call);
  if (state_ == State::open) flush_later();
}

void MemberLink::remove(MemberCall& call) {
  ASSERT(call.link_ == this);
  call.link_ = nullptr;
  if (std::exchange(call.is_noted_, false)) std::erase(noted_, &call);
  if (!call.open()) {
    std::erase(waiting_, &call);
    return;
  }
  connection_.cancel(call);
  flush_later();
}

void MemberLink::consume(MemberCall& call, std::size_t bytes) {
  connection_.consume(call, bytes);
  flush_later();
}

void MemberLink::retire() {
  retired_ = true;
  if (state_ != State::closed) flush_later();
}

void MemberLink::on_ready(std::uint32_t events) {
  if (events == 0) called_again_ = false;
  stream_.note(events);
  switch (state_) {
    case State::connecting:
      if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0) on_connected();
      return;
    case State::handshake:
      return shake_hands();
    case State::open:
      read();
      return flush();
    case State::closed:
      return close();
  }
}

void MemberLink::on_connected() {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(stream_.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
    return close();
  auto channel = resources_.tls.connect(stream_.socket(), name_);
  if (!channel) return close();
  channel->read_ahead(kLinkAheadBytes);
  stream_.secure(std::move(channel));
  state_ = State::handshake;
  shake_hands();
}

void MemberLink::shake_hands() {
  const IoStatus status = stream_.tls()->handshake();
  if (status == IoStatus::blocked) return;
  if (status != IoStatus::done || !stream_.tls()->speaks_http2()) return close();
  state_ = State::open;
  read();
  flush();
}

void MemberLink::read() {
  const IoStatus status = read_all();
  pause_calls();
  if (status != IoStatus::blocked) close();
}

// All that has come, or as much as is our turn. `blocked`, or why nothing more will come.
IoStatus MemberLink::read_all() {
  std::array<char, kLinkReadBytes> input;
  for (int reads = 0; reads < transport::ByteStream::kReadsInTurn; ++reads) {
    const IoResult result = stream_.read(input.data(), input.size());
    if (result.status != IoStatus::done) return result.status;
    connection_.feed({input.data(), result.size});
    if (armed() && connection_.is_accepted()) {
      disarm();
      counters_.connections.add();
    }
    if (reads % kReadsGathered == kReadsGathered - 1) pause_calls();
    if (connection_.is_over()) return IoStatus::failed;
  }
  flush_later();
  return IoStatus::blocked;
}

void MemberLink::pause_calls() {
  while (!noted_.empty()) {
    MemberCall& call = *noted_.back();
    noted_.pop_back();
    call.is_noted_ = false;
    call.on_pause();
  }
}

void MemberLink::note(MemberCall& call) {
  if (!std::exchange(call.is_noted_, true)) noted_.push_back(&call);
}

void MemberLink::on_answer_head(http::Http2Call& call) {
  static_cast<MemberCall&>(call).on_head();
}

void MemberLink::on_answer_bytes(http::Http2Call& call, std::string_view bytes) {
  auto& answered = static_cast<MemberCall&>(call);
  note(answered);
  answered.on_bytes(bytes);
}

void MemberLink::on_call_end(http::Http2Call& call, Http2CallEnd end) {
  auto& ended = static_cast<MemberCall&>(call);
  if (std::exchange(ended.is_noted_, false)) std::erase(noted_, &ended);
  ended.link_ = nullptr;
  counters_.calls[static_cast<std::size_t>(end)].add();
  ended.on_end(end);
}

void MemberLink::send_waiting() {
  while (!waiting_.empty() && !connection_.is_worn() && connection_.has_room()) {
    MemberCall& call = *waiting_.front();
    waiting_.pop_front();
    call.send(connection_);
  }
  if (!connection_.is_worn()) return;
  while (!waiting_.empty()) {
    MemberCall& call = *waiting_.front();
    waiting_.pop_front();
    call.link_ = nullptr;
    call.on_end(Http2CallEnd::unprocessed);
  }
}

void MemberLink::flush_later() {
  if (state_ == State::closed || std::exchange(called_again_, true)) return;
  resources_.readiness.call_again(*this);
}

void MemberLink::flush() {
  while (state_ == State::open) {
    send_waiting();
    if (output_begin_ == output_.size()) {
      output_.clear();
      output_begin_ = 0;
      connection_.take_output(output_, kLinkOutputBytesMax);
    }
    if (output_.empty()) break;
    const IoResult result = stream_.write(std::string_view(output_).substr(output_begin_));
    if (result.status == IoStatus::failed) return read_rest_and_close();
    output_begin_ += result.size;
    if (output_begin_ < output_.size() && result.status == IoStatus::blocked) return;
  }
  if (state_ != State::open) return;
  if (output_.capacity() > kLinkKeptBytesMax && connection_.calls() == 0)
    std::string().swap(output_);
  if (connection_.finished() || (retired_ && waiting_.empty() && connection_.calls() == 0)) close();
}

// The member may have said before its end which calls it has not begun.
void MemberLink::read_rest_and_close() {
  static_cast<void>(read_all());
  pause_calls();
  close();
}

void MemberLink::close() {
  // In TLS 1.3 the one who connects is the first to see the handshake end.
  const bool is_begun = state_ == State::handshake || state_ == State::open;
  if (is_begun && !retired_ && !connection_.is_accepted()) counters_.handshakes_failed.add();
  state_ = State::closed;
  disarm();
  resources_.readiness.forget(*this);
  stream_.close();
  connection_.lose();
  owner_.on_link_closed(*this);
  // The end of one may be that of others, which are removed then.
  while (!waiting_.empty()) {
    MemberCall& call = *waiting_.front();
    waiting_.pop_front();
    call.link_ = nullptr;
    counters_.unreachable.add();
    call.on_end(Http2CallEnd::unprocessed);
  }
}

}  // namespace prophecy::sketcher

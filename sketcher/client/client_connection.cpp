#include "sketcher/client/client_connection.hpp"

#include <array>

#include "sketcher/client/http/http1_session.hpp"
#include "sketcher/client/http/http2_session.hpp"
#include "sketcher/client/session/session_turn.hpp"
#include "sketcher/client/tunnel/tunnel_session.hpp"
#include "transport/tls_failure.hpp"

namespace prophecy::sketcher {

using transport::IoResult;
using transport::IoStatus;
using transport::TlsChannel;

namespace {

constexpr std::size_t kFirstReadBytes = 16 << 10;
// A new client has that for its first bytes, or for the next ones of its handshake, before it has
// to give its place up to others.
constexpr Duration kTimeToBegin = seconds(1);

}  // namespace

ClientConnection::ClientConnection(UniqueFd socket, const IpAddress& peer,
                                   const ListenerTraits& listener, SessionContext& context,
                                   transport::ReadinessLoop& readiness, ConnectionOwner& owner)
    : stream_(std::move(socket)),
      peer_(peer),
      listener_(listener),
      context_(context),
      readiness_(readiness),
      owner_(owner) {
  if (listener.peers->proxy_protocol) {
    announcement_ = std::make_unique<ProxyIntake>();
  } else if (listener.members == nullptr) {
    set_address(peer);
  }
}

ClientConnection::~ClientConnection() = default;

void ClientConnection::set_address(const IpAddress& address) {
  address_ = address;
  client_.address = address.to_string();
  const AddressRanges& trusted = listener_.peers->trusted_peers;
  // An announced address is believed to be a proxy's only on the word of one.
  const bool believed = contains(trusted, peer_) && contains(trusted, address);
  client_.trusted_peers = believed ? &trusted : nullptr;
}

void ClientConnection::start() {
  if (announcement_) {
    state_ = State::announcing;
    context_.timeouts.header.arm(*this, SessionContext::now());
  } else {
    begin();
    if (state_ == State::closed) return;
  }
  if (!readiness_.add(stream_.descriptor(), *this)) close();
}

void ClientConnection::take_announcement() {
  switch (announcement_->receive(stream_.descriptor())) {
    case ProxyIntake::State::waiting:
      return;
    case ProxyIntake::State::failed:
      context_.worker.counters.connections_refused.add();
      context_.worker.counters.refusals.add(announcement_->failure());
      return close();
    case ProxyIntake::State::done:
      break;
  }
  const auto& announced = announcement_->connection();
  const IpAddress address = announced ? announced->source : peer_;
  announcement_.reset();
  if (!owner_.on_address_known(address)) return close();
  set_address(address);
  begin();
  // What has come behind the header is told by no further event.
  if (state_ == State::handshake) return shake_hands();
  if (state_ == State::choosing) choose();
}

void ClientConnection::begin() {
  if (listener_.tls != nullptr) {
    auto channel = listener_.tls->accept(stream_.socket());
    if (!channel) return close();
    stream_.secure(std::move(channel));
    client_.secure = true;
    state_ = State::handshake;
    context_.timeouts.handshake.arm(*this, SessionContext::now());
  } else {
    state_ = State::choosing;
    context_.timeouts.header.arm(*this, SessionContext::now());
  }
}

void ClientConnection::on_ready(std::uint32_t events) {
  if (events == 0) {
    called_again_ = false;
    former_.reset();
  }
  stream_.note(events);
  switch (state_) {
    case State::announcing:
      return take_announcement();
    case State::handshake:
      return shake_hands();
    case State::choosing:
      return choose();
    case State::serving:
      return session_->on_ready(SessionContext::now());
    case State::resting:
      return wake();
    case State::lingering:
      return linger();
    case State::closed:
      return;
  }
}

void ClientConnection::refuse_handshake(std::string_view reason) {
  context_.worker.counters.tls.failed.add();
  context_.worker.counters.refusals.add(reason);
  close();
}

void ClientConnection::shake_hands() {
  TlsChannel& tls = *stream_.tls();
  switch (tls.handshake()) {
    case IoStatus::blocked:
      return;
    case IoStatus::done:
      break;
    default:
      return refuse_handshake(transport::reason_of_failed_handshake());
  }
  if (tls.peer_has_expired()) return refuse_handshake("TLS: client certificate");
  if (listener_.members != nullptr && !is_from_member())
    return refuse_handshake("TLS: not a member of the ring");
  context_.worker.counters.tls.handshakes.add();
  if (tls.resumed()) context_.worker.counters.tls.resumed.add();
  if (listener_.members != nullptr) owner_.on_member_known(*this);
  client_.client_certificate_verified = tls.peer_verified();
  if (tls.speaks_http2()) return serve_http2({});
  // Without ALPN, a client speaks HTTP/1.1.
  if (!listener_.http1) return close();
  state_ = State::choosing;
  context_.timeouts.header.arm(*this, SessionContext::now());
  choose();
}

bool ClientConnection::is_from_member() const {
  for (dht::MemberSlot slot = 0; slot < MemberDirectory::kSlots; ++slot) {
    const auto member = listener_.members->find(slot);
    if (member && stream_.tls()->peer_is_named(member->name)) return true;
  }
  return false;
}

// Inside TLS, HTTP/2 is spoken by ALPN alone.
void ClientConnection::choose() {
  std::array<char, kFirstReadBytes> input;
  const IoResult result = stream_.read(input.data(), input.size());
  if (result.status == IoStatus::blocked) return;
  if (result.status != IoStatus::done) return close();
  std::string_view bytes(input.data(), result.size);
  std::string joined;
  if (!first_bytes_.empty()) {
    joined = first_bytes_.append(bytes);
    bytes = joined;
  }
  if (listener_.http2 && !client_.secure) {
    if (!listener_.http1) return serve_http2(bytes);
    if (bytes.starts_with(http::kHttp2Preface)) return serve_http2(bytes);
    if (http::kHttp2Preface.starts_with(bytes)) {
      first_bytes_.assign(bytes);
      return choose();
    }
  }
  std::string().swap(first_bytes_);
  serve_http1(bytes);
}

void ClientConnection::serve_http1(std::string_view read) {
  SessionHost& host = *this;
  serve(std::make_unique<Http1Session>(context_.resources, host), read);
}

void ClientConnection::serve_http2(std::string_view read) {
  std::string().swap(first_bytes_);
  context_.worker.counters.http2.connections.add();
  SessionHost& host = *this;
  serve(std::make_unique<Http2Session>(context_.resources, context_.http2, host), read);
}

void ClientConnection::serve(std::unique_ptr<Session> session, std::string_view read) {
  disarm();
  state_ = State::serving;
  session_ = std::move(session);
  session_->start(read, SessionContext::now());
}

void ClientConnection::take_input(TimePoint now) {
  if (in_turn_) return;
  in_turn_ = true;
  SessionHost& host = *this;
  read_turn(*session_, host, now,
            [this](char* into, std::size_t size) { return stream_.read(into, size); });
  in_turn_ = false;
}

void ClientConnection::rest() {
  session_->abandon();
  session_.reset();
  state_ = State::resting;
  context_.timeouts.rest.arm_for(*this, SessionContext::now(), context_.timeouts.after_lull);
}

void ClientConnection::wake() {
  std::array<char, kFirstReadBytes> input;
  const IoResult result = stream_.read(input.data(), input.size());
  if (result.status == IoStatus::blocked) return;
  if (result.status != IoStatus::done) return close();
  serve_http1({input.data(), result.size});
}

void ClientConnection::become_tunnel(TunnelRequest request, std::string_view read) {
  ASSERT(state_ == State::serving && !former_);
  disarm();
  StreamHost& host = *this;
  former_ =
      std::exchange(session_, std::make_unique<TunnelSession>(context_, host, std::move(request)));
  call_again();  // first: the start may be the end
  session_->start(read, SessionContext::now());
}

void ClientConnection::finish() {
  if (state_ == State::closed) return;
  state_ = State::lingering;
  stream_.end();
  linger_.begin(stream_.socket());
  if (session_) {
    session_->abandon();
    call_again();
  }
  context_.timeouts.linger.arm(*this, SessionContext::now());
  discard();
}

// None of its code is on the stack any more.
void ClientConnection::linger() {
  session_.reset();
  former_.reset();
  discard();
}

void ClientConnection::discard() {
  switch (linger_.discard(stream_.socket())) {
    case Linger::Heard::all:
      return;
    case Linger::Heard::some:
      return call_again();
    case Linger::Heard::end:
      return close();
  }
}

void ClientConnection::on_give_way() {
  if (state_ == State::serving) return session_->on_no_room(SessionContext::now());
  on_timeout();
}

void ClientConnection::on_timeout() {
  if (state_ == State::serving) {
    if (!lulls_) return session_->on_late(SessionContext::now());
    // (A turn that is to come may have bytes.)
    return called_again_ ? wait(Wait::idle, SessionContext::now()) : rest();
  }
  if (state_ == State::announcing || state_ == State::handshake) {
    context_.worker.counters.timeouts.add();
  }
  if (state_ == State::handshake) return refuse_handshake("TLS: handshake too slow");
  if (state_ == State::lingering && linger_.goes_on(stream_.socket())) {
    return context_.timeouts.linger.arm(*this, SessionContext::now());
  }
  close();
}

bool ClientConnection::is_idle(Duration waited) const {
  if (state_ == State::serving) return session_->idles();
  return state_ == State::resting || state_ == State::lingering || waited >= kTimeToBegin;
}

void ClientConnection::on_give_place() {
  state_ == State::serving ? session_->on_give_place() : close();
}

void ClientConnection::drain() {
  switch (state_) {
    case State::announcing:
    case State::handshake:
      return close();
    case State::choosing:
    case State::resting:
      return finish();
    case State::serving:
      return session_->drain();
    case State::lingering:
    case State::closed:
      return;
  }
}

void ClientConnection::close() {
  if (state_ == State::closed) return;
  const bool is_served = state_ == State::serving;
  state_ = State::closed;
  disarm();
  if (is_served) session_->abandon();
  readiness_.forget(*this);
  stream_.close();
  owner_.on_connection_closed(*this);
}

}  // namespace prophecy::sketcher

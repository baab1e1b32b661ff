// One client's connection, from the accepted socket to its end: the TLS handshake where the
// listener wants one, the choice of the protocol, the session that speaks it, and the close.
// States:
//
//   announcing --> handshake --> choosing --> serving --> lingering --> closed
//                                              |   |
//                                             resting
//
// `announcing`: a load balancer in front says whose connection this is; on a listener that requires
// it, and until then the client has no address. `handshake`: on a listener with TLS. `choosing`:
// the first bytes tell HTTP/1.x from HTTP/2 where ALPN has not; without any, there is no session to
// hold memory. `resting`: nothing has come for a while after an answer over HTTP/1, and the session
// is gone until something does. `lingering`: we end the connection; what still arrives is
// discarded, so that our last answer is not lost, for a second and for as long as the client takes
// it; the session is gone. Any state may go straight to `closed`: the client has left, or was too
// slow.
//
// Single-threaded. Its owner destroys it after it has told that it is closed, and not before the
// caller of whatever closed it has returned.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "sketcher/client/http/session_context.hpp"
#include "sketcher/client/proxy_intake.hpp"
#include "sketcher/client/session/linger.hpp"
#include "sketcher/config/forwarding_settings.hpp"
#include "sketcher/shared/member_directory.hpp"
#include "transport/readiness_loop.hpp"
#include "transport/tls_server.hpp"

namespace prophecy::sketcher {

class ClientConnection;

class ConnectionOwner {
 public:
  // The connection is that of another address than its peer's. False: it may have no more.
  [[nodiscard]] virtual bool on_address_known(const IpAddress& address) = 0;
  // Its handshake has shown that it is a member's, where members come to.
  virtual void on_member_known(ClientConnection& connection) = 0;
  // Its address counts as taken, if it is known.
  virtual void on_connection_closed(ClientConnection& connection) = 0;

 protected:
  ~ConnectionOwner() = default;
};

// What a connection owes to the listener that it came in by.
struct ListenerTraits {
  transport::TlsServer* tls = nullptr;  // null: plain
  bool http1 = true;
  bool http2 = true;
  const PeerSettings* peers = nullptr;  // never null once it is in use
  // Where members of the ring come to, with a certificate that has the name of one of these; null:
  // where clients do.
  const MemberDirectory* members = nullptr;
};

class ClientConnection final : private StreamHost,
                               private transport::ReadinessHandler,
                               private TimeoutEntry {
 public:
  // `peer` is who has connected; on a listener with PROXY headers, somebody trusted.
  ClientConnection(UniqueFd socket, const IpAddress& peer, const ListenerTraits& listener,
                   SessionContext& context, transport::ReadinessLoop& readiness,
                   ConnectionOwner& owner);
  ~ClientConnection() override;

  void start();
  // The worker stops: an idle connection closes now, another one after its answers.
  void drain();

  [[nodiscard]] const std::optional<IpAddress>& address() const { return address_; }
  // Whether it is where members come to, and not known for one's yet.
  [[nodiscard]] bool may_be_strangers() const {
    return listener_.members != nullptr && state_ == State::handshake;
  }
  // Others are to have its place. Requires may_be_strangers().
  void refuse_stranger() { refuse_handshake("TLS: too many handshakes"); }

  // Where its owner keeps it.
  [[nodiscard]] std::size_t position() const { return position_; }
  void set_position(std::size_t position) { position_ = position; }

 private:
  enum class State : std::uint8_t {
    announcing,
    handshake,
    choosing,
    serving,
    resting,
    lingering,
    closed,
  };

  void on_ready(std::uint32_t events) override;
  void on_timeout() override;
  [[nodiscard]] bool is_idle(Duration waited) const override;
  void on_give_place() override;
  void on_give_way() override;
  [[nodiscard]] std::size_t held_bytes() const override {
    return state_ == State::serving ? session_->held_bytes() : 0;
  }
  transport::ByteStream& stream() override { return stream_; }
  transport::ReadinessLoop& readiness() override { return readiness_; }
  const ClientInfo& client() const override { return client_; }
  TimePoint now() const override { return SessionContext::now(); }
  transport::IoResult write(std::string_view first, std::string_view second) override {
    return stream_.write(first, second);
  }
  std::size_t queued_bytes() const override { return stream_.queued_bytes(); }
  bool broken() const override { return stream_.broken(); }
  bool hangs_up() const override { return stream_.hangs_up(); }
  void wait(Wait what, TimePoint now) override {
    lulls_ = what == Wait::idle;
    (lulls_ ? context_.timeouts.lull : context_.timeouts.of(what)).arm(*this, now);
  }
  void stop_waiting() override { disarm(); }
  void take_input(TimePoint now) override;
  bool has_input() const override { return stream_.may_have_input(); }
  void call_again() override {
    if (!std::exchange(called_again_, true)) readiness_.call_again(*this);
  }
  void become_tunnel(TunnelRequest request, std::string_view read) override;
  void finish() override;
  void close() override;

  void take_announcement();
  void set_address(const IpAddress& address);
  // The first bytes that are the client's own.
  void begin();
  void shake_hands();
  [[nodiscard]] bool is_from_member() const;
  void refuse_handshake(std::string_view reason);
  void choose();
  void serve_http1(std::string_view read);
  void serve_http2(std::string_view read);
  void serve(std::unique_ptr<Session> session, std::string_view read);
  void rest();
  void wake();
  void linger();
  void discard();

  transport::ByteStream stream_;
  IpAddress peer_;
  std::optional<IpAddress> address_;  // the client's, once it is known
  ClientInfo client_;
  std::unique_ptr<ProxyIntake> announcement_;  // while it is awaited
  const ListenerTraits& listener_;
  SessionContext& context_;
  transport::ReadinessLoop& readiness_;
  ConnectionOwner& owner_;
  std::size_t position_ = 0;
  State state_ = State::choosing;
  Linger linger_;
  bool called_again_ = false;  // in the next turn, whatever else happens
  bool lulls_ = false;         // in serving: the session waits for its next request
  bool in_turn_ = false;       // take_input() is on the stack
  std::string first_bytes_;    // too few to choose by
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session> former_;  // to the next turn: its code may be on the stack
};

}  // namespace prophecy::sketcher

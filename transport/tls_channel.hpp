// One TLS session on a ReadySocket, either side of it. OpenSSL reads and writes the socket itself,
// through a BIO of ours: no bytes are copied between buffers, and what the socket has said about
// being empty costs no second call. Between records no buffer is held.
//
// OpenSSL looks at messages behind the handshake, such as new keys, until it finds bytes to hand
// out. They cost the peer nothing, so one that sends more of them than it has reason to is cut off.
//
// Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "base/error.hpp"
#include "transport/ready_socket.hpp"

namespace prophecy::transport {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// What was wrong with the certificate that the peer has shown.
enum class PeerFault : std::uint8_t {
  none,        // nothing: a failed handshake has another reason
  untrusted,   // no trusted authority has signed it, or not for this use
  expired,     // it or one above it; or it is not valid yet
  wrong_name,  // it is not for the name that was asked for
};

class TlsChannel {
 public:
  enum class Side : std::uint8_t { server, client };
  // The socket must outlive it. Yields null when there is no memory.
  [[nodiscard]] static std::unique_ptr<TlsChannel> make(SSL_CTX& context, ReadySocket& socket,
                                                        Side side);

  // `done` once; `blocked` until then.
  [[nodiscard]] IoStatus handshake();
  [[nodiscard]] bool established() const { return established_; }
  // After `failed`: what OpenSSL says about it.
  [[nodiscard]] static std::string failure();

  [[nodiscard]] IoResult read(char* into, std::size_t size);
  // See ByteStream::write().
  [[nodiscard]] IoResult write(std::string_view first, std::string_view second);
  // Tells the peer that nothing follows. False: it does not take that now, and may be told again.
  bool end();
  // The peer is told nothing more, not even that.
  void give_up() { broken_ = true; }

  // Takes up to so many bytes from the socket at a time, in place of one record, and holds them
  // meanwhile: for a few connections with much to read.
  void read_ahead(std::size_t bytes);

  [[nodiscard]] bool speaks_http2() const;  // by ALPN
  [[nodiscard]] bool resumed() const;
  // The peer has shown a certificate that a trusted authority has signed.
  [[nodiscard]] bool peer_verified() const;
  // And that certificate has this DNS name; wildcards do not count.
  [[nodiscard]] bool peer_is_named(const std::string& name) const;
  [[nodiscard]] PeerFault peer_fault() const;
  // The session is an earlier one's, whose certificate is not valid any more.
  [[nodiscard]] bool peer_has_expired() const;
  [[nodiscard]] SSL& ssl() { return *ssl_; }

 private:
  TlsChannel(std::unique_ptr<SSL, FreeSsl> ssl, ReadySocket& socket)
      : ssl_(std::move(ssl)), socket_(socket) {}
  struct Bio;
  friend struct Bio;
  static void on_message(int is_sent, int version, int type, const void* message, std::size_t size,
                         SSL* ssl, void* channel);
  [[nodiscard]] bool exhausts_us() const;
  [[nodiscard]] IoStatus status_of(int result);

  std::unique_ptr<SSL, FreeSsl> ssl_;
  ReadySocket& socket_;
  std::uint64_t received_bytes_ = 0;
  std::uint64_t late_messages_ = 0;  // of the peer's, behind the handshake
  bool established_ = false;
  bool broken_ = false;  // OpenSSL may not be asked any more, nor told to shut down
};

}  // namespace prophecy::transport

// `LinkChannel` is one side of an encrypted connection between two members of a group: TLS 1.3 in
// memory, bytes of the socket on one side, frames on the other. LinkTls makes it.
//
//   socket --> space(), filled() --> read() --> frames
//   socket <-- output(), sent()  <-- write() <-- frames
//
// No I/O. Memory: kInputMax, and what the caller writes before it sends. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <openssl/ssl.h>

#include "base/bytes.hpp"
#include "pbft/auth/keys.hpp"

namespace prophecy::pbft {

class LinkChannel {
 public:
  enum class Status : std::uint8_t {
    done,
    blocked,  // more bytes of the socket are wanted
    ended,    // the peer has ended its sending, in order
    failed,   // failure() says why; the channel is of no use any more
  };
  static constexpr std::size_t kInputMax = 64 << 10;

  // Where bytes of the socket go; then filled(), and handshake() or read() until they are blocked.
  [[nodiscard]] std::span<std::uint8_t> space();
  void filled(std::size_t bytes);

  // Done once: the peer has shown a key that it may have. On the side that accepts, this side's key
  // has been accepted as well. The side that connects learns that from what comes: the peer's first
  // bytes, or its alert.
  [[nodiscard]] Status handshake();
  [[nodiscard]] bool is_secured() const { return is_secured_; }

  // Requires that it is secured, as write() does.
  struct Read {
    Status status = Status::blocked;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Read read(std::span<std::uint8_t> into);
  // Takes all of them. False: it has failed.
  [[nodiscard]] bool write(ByteView bytes);

  // What is to be sent. Stays valid until the next call of another function.
  [[nodiscard]] ByteView output();
  void sent(std::size_t bytes) { output_begin_ += bytes; }

  // For people: why it has failed.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  friend class LinkTls;
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  LinkChannel() = default;
  static void on_message(int is_sent, int version, int type, const void* message, std::size_t size,
                         SSL* ssl, void* channel);
  [[nodiscard]] Status status_of(int result);
  Status fail(std::string reason);

  std::unique_ptr<SSL, Free> ssl_;
  BIO* in_ = nullptr;   // the session's
  BIO* out_ = nullptr;  // likewise
  std::unique_ptr<std::uint8_t[]> input_;
  Bytes output_;
  std::size_t output_begin_ = 0;
  std::optional<PublicSigningKey> wanted_;  // of the peer; nothing: any member's
  std::string failure_;
  std::uint64_t read_bytes_ = 0;
  std::uint64_t late_messages_ = 0;  // of the peer's, behind the handshake
  bool has_input_ = false;           // some has come
  bool is_secured_ = false;
};

// The first bytes that a peer has sent are those of TLS, where frames are expected.
[[nodiscard]] bool looks_like_tls(ByteView bytes);
// To a peer that does not speak as we do: a fatal alert, which TLS understands and looks_like_tls()
// knows.
[[nodiscard]] ByteView refusing_alert();

inline constexpr const char* kPeerIsPlain =
    "it speaks plain text; encrypted_links differs in its group file";
inline constexpr const char* kPeerIsEncrypted =
    "it speaks TLS; encrypted_links differs in its group file";

}  // namespace prophecy::pbft

// Our side of TLS towards one server: who it has to be, and by whose word; and our own certificate,
// where it asks for one. The last session is resumed, if the server will.
//
// Single-threaded; a child process after fork() has one of its own. Stays where it is, and outlives
// its channels.
#pragma once

#include <memory>

#include "transport/certificate.hpp"
#include "transport/tls_channel.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::transport {

class TlsClient {
 public:
  [[nodiscard]] static Result<std::unique_ptr<TlsClient>> load(TlsClientSettings settings);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Reads all files anew, for the channels that are made from now on. When they are not in order,
  // all stays as it was.
  [[nodiscard]] Result<> reload();
  // Rises with each reload() that went well: what an older one has let in is to be closed.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

  // Null when there is no memory.
  [[nodiscard]] std::unique_ptr<TlsChannel> connect(ReadySocket& socket);
  // To the server whose certificate has this name, a DNS name: for settings without one. No session
  // is resumed.
  [[nodiscard]] std::unique_ptr<TlsChannel> connect(ReadySocket& socket, const std::string& name);

 private:
  struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  struct FreeSession {
    void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  };

  using Context = std::unique_ptr<SSL_CTX, FreeContext>;

  explicit TlsClient(TlsClientSettings settings) : settings_(std::move(settings)) {}
  [[nodiscard]] Result<Context> make_context();
  // With our own certificate.
  [[nodiscard]] Result<Context> finish_context(Context context) const;
  [[nodiscard]] static Result<> use_certificate(SSL_CTX& context, const CertificateFiles& files);
  static int on_session(SSL* ssl, SSL_SESSION* session);

  TlsClientSettings settings_;
  bool names_host_ = false;  // server_name is no address: it is said by SNI
  Context context_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<SSL_SESSION, FreeSession> session_;
};

}  // namespace prophecy::transport

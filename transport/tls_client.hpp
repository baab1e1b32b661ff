// Our side of TLS towards one origin: who it has to be, and by whose word; and our own certificate,
// where it asks for one. The last session is resumed, if the origin will.
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
  [[nodiscard]] static Result<std::unique_ptr<TlsClient>> load(const TlsClientSettings& settings);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Null when there is no memory.
  [[nodiscard]] std::unique_ptr<TlsChannel> connect(ReadySocket& socket);

 private:
  struct FreeContext {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  struct FreeSession {
    void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  };

  TlsClient() = default;
  [[nodiscard]] Result<> set_up(const TlsClientSettings& settings);
  [[nodiscard]] Result<> use_certificate(const CertificateFiles& files);
  static int on_session(SSL* ssl, SSL_SESSION* session);

  std::string server_name_;  // for SNI; empty for an address
  std::unique_ptr<SSL_CTX, FreeContext> context_;
  std::unique_ptr<SSL_SESSION, FreeSession> session_;
};

}  // namespace prophecy::transport

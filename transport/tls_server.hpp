// The server's side of TLS on one listener: certificates by name, protocols, tickets, clients'
// certificates. Cipher suites and groups are those of Mozilla's "intermediate" recommendation,
// without its finite-field Diffie-Hellman: whoever speaks TLS 1.2 with forward secrecy has elliptic
// curves, and a server that does the other can be kept busy at little cost.
//
// Single-threaded; a child process after fork() has one of its own. Stays where it is, and outlives
// its channels' handshakes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "transport/certificate.hpp"
#include "transport/ticket_keys.hpp"
#include "transport/tls_channel.hpp"
#include "transport/tls_settings.hpp"

namespace prophecy::transport {

struct FreeSslContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeSslContext>;

class TlsServer {
 public:
  // Reads all files. Without `tickets`, no session is resumed; they must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<TlsServer>> load(TlsServerSettings settings,
                                                               const TicketKeys* tickets);
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // Reads all files anew, for the handshakes that begin after it. After an error everything is as
  // it was.
  [[nodiscard]] Result<> reload();

  // Null when there is no memory.
  [[nodiscard]] std::unique_ptr<TlsChannel> accept(ReadySocket& socket);

 private:
  // Certificates with the same names share one: clients take what they can verify (RSA, ECDSA).
  struct Site {
    std::vector<Certificate> certificates;
    SslContextPtr context;
  };
  struct Sites {
    std::vector<std::unique_ptr<Site>> all;           // never empty
    std::map<std::string, Site*, std::less<>> names;  // "*.example.org" among them
  };

  TlsServer(TlsServerSettings settings, const TicketKeys* tickets)
      : settings_(std::move(settings)), tickets_(tickets) {}
  [[nodiscard]] Result<Sites> load_sites();
  [[nodiscard]] Result<SslContextPtr> make_context(Site& site,
                                                   const std::vector<X509Ptr>& client_ca);
  [[nodiscard]] Result<> add_client_ca(SSL_CTX& context, const std::vector<X509Ptr>& client_ca);
  [[nodiscard]] const Site* find_site(std::string_view name) const;

  // OpenSSL's callbacks.
  static TlsServer& of(SSL* ssl);
  static int on_server_name(SSL* ssl, int* alert, void* self);
  static int on_protocols(SSL* ssl, const unsigned char** out, unsigned char* out_size,
                          const unsigned char* offered, unsigned offered_size, void* self);
  static int on_status_request(SSL* ssl, void* self);
  static int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                       EVP_MAC_CTX* mac, int encrypt);

  TlsServerSettings settings_;
  const TicketKeys* tickets_;
  Sites sites_;
};

}  // namespace prophecy::transport

#include "transport/tls_server.hpp"

#include <algorithm>
#include <cstring>

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>

namespace prophecy::transport {
namespace {

constexpr const char* kCipherSuites13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kCiphers12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr long kTicketLifetimeSeconds = 3600;
constexpr std::string_view kHttp2 = "h2";
constexpr std::string_view kHttp1 = "http/1.1";

Error server_error(const std::string& what) {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = error != 0 ? ERR_reason_error_string(error) : nullptr;
  ERR_clear_error();
  return {ErrorKind::invalid,
          "TLS: " + what + (reason != nullptr ? ": " : "") + (reason != nullptr ? reason : "")};
}

// Of a list of length-prefixed names.
bool offers(std::string_view offered, std::string_view wanted) {
  while (!offered.empty()) {
    const std::size_t size = static_cast<unsigned char>(offered.front());
    if (size + 1 > offered.size()) return false;
    if (offered.substr(1, size) == wanted) return true;
    offered.remove_prefix(size + 1);
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<TlsServer>> TlsServer::load(TlsServerSettings settings,
                                                   const TicketKeys* tickets) {
  std::unique_ptr<TlsServer> server(new TlsServer(std::move(settings), tickets));
  if (auto loaded = server->reload(); !loaded) return loaded.error();
  return server;
}

Result<> TlsServer::reload() {
  auto sites = load_sites();
  if (!sites) return sites.error();
  sites_ = std::move(*sites);
  return {};
}

Result<TlsServer::Sites> TlsServer::load_sites() {
  Sites sites;
  for (const CertificateFiles& files : settings_.certificates) {
    auto certificate = load_certificate(files);
    if (!certificate) return certificate.error();
    const auto same = std::find_if(sites.all.begin(), sites.all.end(), [&](const auto& site) {
      return site->certificates.front().names == certificate->names;
    });
    if (same != sites.all.end()) {
      (*same)->certificates.push_back(std::move(*certificate));
      continue;
    }
    sites.all.push_back(std::make_unique<Site>());
    Site& site = *sites.all.back();
    for (const std::string& name : certificate->names)
      sites.names.emplace(name, &site);  // the first that has a name keeps it
    site.certificates.push_back(std::move(*certificate));
  }
  if (sites.all.empty()) return Error{ErrorKind::invalid, "TLS: no certificate"};
  std::vector<X509Ptr> client_ca;
  if (settings_.client_certificates != ClientCertificates::off) {
    auto loaded = load_certificates(settings_.client_ca);
    if (!loaded) return loaded.error();
    client_ca = std::move(*loaded);
  }
  for (auto& site : sites.all) {
    auto context = make_context(*site, client_ca);
    if (!context) return context.error();
    site->context = std::move(*context);
  }
  return sites;
}

Result<SslContextPtr> TlsServer::make_context(Site& site, const std::vector<X509Ptr>& client_ca) {
  SslContextPtr context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* const raw = context.get();
  const int version = settings_.version_min == TlsVersion::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, version) != 1 ||
      SSL_CTX_set_ciphersuites(raw, kCipherSuites13) != 1 ||
      SSL_CTX_set_cipher_list(raw, kCiphers12) != 1 ||
      SSL_CTX_set1_groups_list(raw, kGroups) != 1) {
    return server_error("cannot be set up");
  }
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_PRIORITIZE_CHACHA | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(raw, 1);  // a record, header and all, with one call to the kernel
  SSL_CTX_set_app_data(raw, this);

  for (Certificate& certificate : site.certificates) {
    if (SSL_CTX_use_certificate(raw, &certificate.leaf()) != 1 ||
        SSL_CTX_use_PrivateKey(raw, certificate.key.get()) != 1) {
      return server_error("certificate not usable");
    }
    for (std::size_t i = 1; i < certificate.chain.size(); ++i) {
      if (SSL_CTX_add1_chain_cert(raw, certificate.chain[i].get()) != 1) {
        return server_error("certificate chain not usable");
      }
    }
  }
  SSL_CTX_set_tlsext_servername_callback(raw, on_server_name);
  SSL_CTX_set_tlsext_servername_arg(raw, this);
  SSL_CTX_set_alpn_select_cb(raw, on_protocols, this);
  SSL_CTX_set_tlsext_status_cb(raw, on_status_request);
  SSL_CTX_set_tlsext_status_arg(raw, this);

  // Sessions live in their tickets alone: nothing is kept for a client that never comes back.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(raw, kTicketLifetimeSeconds);
  if (tickets_ == nullptr) {
    SSL_CTX_set_options(raw, SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(raw, 0);
  } else if (SSL_CTX_set_tlsext_ticket_key_evp_cb(raw, on_ticket) != 1) {
    return server_error("tickets cannot be set up");
  }
  if (auto added = add_client_ca(*raw, client_ca); !added) return added.error();
  return context;
}

// A session carries the verdict about its client's certificate with it. It is bound to the
// authorities of that time: under others it is not resumed.
Result<> TlsServer::add_client_ca(SSL_CTX& context, const std::vector<X509Ptr>& client_ca) {
  Bytes identity;
  for (const X509Ptr& authority : client_ca) {
    unsigned char fingerprint[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (X509_digest(authority.get(), EVP_sha256(), fingerprint, &size) != 1 ||
        X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(&context, authority.get()) != 1) {
      return server_error("certificates of clients' authorities not usable");
    }
    identity.insert(identity.end(), fingerprint, fingerprint + size);
  }
  unsigned char session_context[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  identity.push_back(static_cast<std::uint8_t>(settings_.client_certificates));
  if (EVP_Digest(identity.data(), identity.size(), session_context, &size, EVP_sha256(), nullptr) !=
          1 ||
      SSL_CTX_set_session_id_context(&context, session_context, size) != 1) {
    return server_error("sessions cannot be told apart");
  }
  switch (settings_.client_certificates) {
    case ClientCertificates::off:
      SSL_CTX_set_verify(&context, SSL_VERIFY_NONE, nullptr);
      break;
    case ClientCertificates::optional:
      SSL_CTX_set_verify(&context, SSL_VERIFY_PEER, nullptr);
      break;
    case ClientCertificates::required:
      SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
      break;
  }
  return {};
}

std::unique_ptr<TlsChannel> TlsServer::accept(ReadySocket& socket) {
  return TlsChannel::make(*sites_.all.front()->context, socket, TlsChannel::Side::server);
}

const TlsServer::Site* TlsServer::find_site(std::string_view name) const {
  std::string wanted(name);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (const auto found = sites_.names.find(wanted); found != sites_.names.end()) {
    return found->second;
  }
  // A wildcard stands for one label, the first (RFC 6125, 6.4.3).
  const std::size_t dot = wanted.find('.');
  if (dot == std::string::npos || dot == 0) return nullptr;
  const auto found = sites_.names.find("*" + wanted.substr(dot));
  return found != sites_.names.end() ? found->second : nullptr;
}

TlsServer& TlsServer::of(SSL* ssl) {
  return *static_cast<TlsServer*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

int TlsServer::on_server_name(SSL* ssl, int* /*alert*/, void* self) {
  const char* name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  const Site* site = name != nullptr ? static_cast<TlsServer*>(self)->find_site(name) : nullptr;
  // Who names something else gets the first certificate, and judges for himself.
  if (site != nullptr) SSL_set_SSL_CTX(ssl, site->context.get());
  return SSL_TLSEXT_ERR_OK;
}

int TlsServer::on_protocols(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_size,
                            const unsigned char* offered, unsigned offered_size, void* self) {
  const std::string_view names(reinterpret_cast<const char*>(offered), offered_size);
  const TlsServerSettings& settings = static_cast<TlsServer*>(self)->settings_;
  const bool http2 = settings.http2 && offers(names, kHttp2);
  const bool http1 = settings.http1 && offers(names, kHttp1);
  // Whoever names protocols and none of ours would not understand us (RFC 7301, 3.2).
  if (!http2 && !http1) return SSL_TLSEXT_ERR_ALERT_FATAL;
  const std::string_view chosen = http2 ? kHttp2 : kHttp1;
  *out = reinterpret_cast<const unsigned char*>(chosen.data());
  *out_size = static_cast<unsigned char>(chosen.size());
  return SSL_TLSEXT_ERR_OK;
}

int TlsServer::on_status_request(SSL* ssl, void* self) {
  const X509* used = SSL_get_certificate(ssl);
  for (const auto& site : static_cast<TlsServer*>(self)->sites_.all) {
    for (const Certificate& certificate : site->certificates) {
      if (&certificate.leaf() != used || !certificate.ocsp) continue;
      const OcspAnswer& answer = *certificate.ocsp;
      if (answer.expires != 0 && answer.expires <= ::time(nullptr)) return SSL_TLSEXT_ERR_NOACK;
      auto* copy =
          static_cast<unsigned char*>(OPENSSL_memdup(answer.der.data(), answer.der.size()));
      if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
      SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(answer.der.size()));
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// See SSL_CTX_set_tlsext_ticket_key_evp_cb(3): 0 for no ticket or one of an unknown key, 1, and 2
// for a ticket that is to be replaced.
int TlsServer::on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                         EVP_MAC_CTX* mac, int encrypt) {
  const TicketKeys& tickets = *of(ssl).tickets_;
  std::optional<TicketKey> key = tickets.current();
  int verdict = 1;
  if (encrypt != 0) {
    if (!key || RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1) return 0;
    std::memcpy(name, key->name(), TicketKey::kNameBytes);
  } else {
    const auto is_named = [name](const std::optional<TicketKey>& one) {
      return one && std::memcmp(name, one->name(), TicketKey::kNameBytes) == 0;
    };
    if (!is_named(key)) {
      key = tickets.previous();
      verdict = 2;
    }
    if (!is_named(key)) return 0;
  }
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY,
                                        const_cast<std::uint8_t*>(key->mac_key()), 32),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const bool ready =
      EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key->cipher_key(), iv, encrypt) == 1 &&
      EVP_MAC_CTX_set_params(mac, parameters) == 1;
  return ready ? verdict : -1;
}

}  // namespace prophecy::transport

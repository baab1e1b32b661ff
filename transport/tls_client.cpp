#include "transport/tls_client.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace prophecy::transport {
namespace {

Error failed(const std::string& what) {
  ERR_clear_error();
  return {ErrorKind::invalid, "TLS towards an origin: " + what};
}

}  // namespace

Result<std::unique_ptr<TlsClient>> TlsClient::load(const TlsClientSettings& settings) {
  std::unique_ptr<TlsClient> client(new TlsClient);
  if (auto done = client->set_up(settings); !done) return done.error();
  return client;
}

Result<> TlsClient::set_up(const TlsClientSettings& settings) {
  const auto authorities = load_certificates(settings.ca);
  if (!authorities) return authorities.error();
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = context_.get();
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) != 1) {
    return failed("cannot be set up");
  }
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_app_data(raw, this);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  for (const X509Ptr& authority : *authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(raw), authority.get()) != 1) {
      return failed("certificates of its authorities not usable");
    }
  }
  // Every channel takes over who the other side has to be.
  X509_VERIFY_PARAM* const wanted = SSL_CTX_get0_param(raw);
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const char* const name = settings.server_name.c_str();
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, name) != 1) {
    if (X509_VERIFY_PARAM_set1_host(wanted, name, settings.server_name.size()) != 1) {
      return failed("\"" + settings.server_name + "\" is no name");
    }
    server_name_ = settings.server_name;
  }
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(raw, on_session);
  ERR_clear_error();
  return settings.certificate ? use_certificate(*settings.certificate) : Result<>();
}

Result<> TlsClient::use_certificate(const CertificateFiles& files) {
  const auto certificate = load_certificate(files);
  if (!certificate) return certificate.error();
  SSL_CTX* const raw = context_.get();
  if (SSL_CTX_use_certificate(raw, &certificate->leaf()) != 1 ||
      SSL_CTX_use_PrivateKey(raw, certificate->key.get()) != 1) {
    return failed(files.chain.string() + ": not usable");
  }
  for (std::size_t i = 1; i < certificate->chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(raw, certificate->chain[i].get()) != 1) {
      return failed(files.chain.string() + ": not usable");
    }
  }
  return {};
}

std::unique_ptr<TlsChannel> TlsClient::connect(ReadySocket& socket) {
  auto channel = TlsChannel::make(*context_, socket, TlsChannel::Side::client);
  if (!channel) return nullptr;
  SSL& ssl = channel->ssl();
  if (!server_name_.empty()) SSL_set_tlsext_host_name(&ssl, server_name_.c_str());
  if (session_) SSL_set_session(&ssl, session_.get());
  return channel;
}

// Takes the session over.
int TlsClient::on_session(SSL* ssl, SSL_SESSION* session) {
  static_cast<TlsClient*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->session_.reset(session);
  return 1;
}

}  // namespace prophecy::transport

#include "transport/tls_client.hpp"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

namespace prophecy::transport {
namespace {

Error client_error(const std::string& what) {
  ERR_clear_error();
  return {ErrorKind::invalid, "TLS towards a server: " + what};
}

}  // namespace

Result<std::unique_ptr<TlsClient>> TlsClient::load(TlsClientSettings settings) {
  std::unique_ptr<TlsClient> client(new TlsClient(std::move(settings)));
  if (auto loaded = client->reload(); !loaded) return loaded.error();
  return client;
}

Result<> TlsClient::reload() {
  auto fresh = make_context();
  if (!fresh) return fresh.error();
  context_ = std::move(*fresh);
  // It was judged by the old authorities.
  session_.reset();
  ++generation_;
  return {};
}

Result<TlsClient::Context> TlsClient::make_context() {
  const auto authorities = load_certificates(settings_.ca);
  if (!authorities) return authorities.error();
  Context context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const raw = context.get();
  const int version = settings_.version_min == TlsVersion::tls1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
  if (raw == nullptr || SSL_CTX_set_min_proto_version(raw, version) != 1) {
    return client_error("cannot be set up");
  }
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  if (settings_.http2 && SSL_CTX_set_alpn_protos(raw, kHttp2, sizeof kHttp2) != 0) {
    return client_error("cannot be set up");
  }
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                            SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN);
  // An origin could have any number of key exchanges by asking.
  SSL_CTX_set_options(raw, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_read_ahead(raw, 1);
  SSL_CTX_set_app_data(raw, this);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  for (const X509Ptr& authority : *authorities) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(raw), authority.get()) != 1) {
      return client_error("certificates of its authorities not usable");
    }
  }
  // Every channel takes over who the other side has to be.
  X509_VERIFY_PARAM* const wanted = SSL_CTX_get0_param(raw);
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (settings_.server_name.empty()) return finish_context(std::move(context));
  const std::string& name = settings_.server_name;
  names_host_ = X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str()) != 1;
  if (names_host_ && X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size()) != 1) {
    return client_error("\"" + name + "\" is no name");
  }
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(raw, on_session);
  return finish_context(std::move(context));
}

Result<TlsClient::Context> TlsClient::finish_context(Context context) const {
  ERR_clear_error();
  if (settings_.certificate) {
    if (auto used = use_certificate(*context, *settings_.certificate); !used) return used.error();
  }
  return context;
}

Result<> TlsClient::use_certificate(SSL_CTX& context, const CertificateFiles& files) {
  const auto certificate = load_certificate(files);
  if (!certificate) return certificate.error();
  if (SSL_CTX_use_certificate(&context, &certificate->leaf()) != 1 ||
      SSL_CTX_use_PrivateKey(&context, certificate->key.get()) != 1) {
    return client_error(files.chain.string() + ": not usable");
  }
  for (std::size_t i = 1; i < certificate->chain.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(&context, certificate->chain[i].get()) != 1) {
      return client_error(files.chain.string() + ": not usable");
    }
  }
  return {};
}

std::unique_ptr<TlsChannel> TlsClient::connect(ReadySocket& socket) {
  auto channel = TlsChannel::make(*context_, socket, TlsChannel::Side::client);
  if (!channel) return nullptr;
  SSL& ssl = channel->ssl();
  if (names_host_) SSL_set_tlsext_host_name(&ssl, settings_.server_name.c_str());
  // A session is resumed without another look at the certificate that it began with.
  const X509* const known = session_ ? SSL_SESSION_get0_peer(session_.get()) : nullptr;
  if (known != nullptr && X509_cmp_current_time(X509_get0_notAfter(known)) > 0) {
    SSL_set_session(&ssl, session_.get());
  }
  return channel;
}

std::unique_ptr<TlsChannel> TlsClient::connect(ReadySocket& socket, const std::string& name) {
  auto channel = TlsChannel::make(*context_, socket, TlsChannel::Side::client);
  if (!channel) return nullptr;
  SSL& ssl = channel->ssl();
  SSL_set_hostflags(&ssl, X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (SSL_set1_host(&ssl, name.c_str()) != 1 || SSL_set_tlsext_host_name(&ssl, name.c_str()) != 1) {
    return nullptr;
  }
  return channel;
}

// Takes the session over, if it is none of before a reload.
int TlsClient::on_session(SSL* ssl, SSL_SESSION* session) {
  SSL_CTX* const context = SSL_get_SSL_CTX(ssl);
  TlsClient& client = *static_cast<TlsClient*>(SSL_CTX_get_app_data(context));
  if (context != client.context_.get()) return 0;
  client.session_.reset(session);
  return 1;
}

}  // namespace prophecy::transport

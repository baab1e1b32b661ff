#include "pbft/links/link_tls.hpp"

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "base/assert.hpp"
#include "pbft/auth/evp.hpp"

namespace prophecy::pbft {
namespace {

struct FreeX509 {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using Certificate = std::unique_ptr<X509, FreeX509>;

// For the key alone: nobody looks at its dates and names.
Certificate self_signed(EVP_PKEY& key) {
  Certificate certificate(X509_new());
  if (!certificate) return nullptr;
  X509* const made = certificate.get();
  X509_NAME* const name = X509_get_subject_name(made);
  const bool is_made =
      X509_set_version(made, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(made), 1) == 1 &&
      ASN1_TIME_set_string(X509_getm_notBefore(made), "20000101000000Z") == 1 &&
      ASN1_TIME_set_string(X509_getm_notAfter(made), "99991231235959Z") == 1 &&
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>("prophecy"), -1, -1,
                                 0) == 1 &&
      X509_set_issuer_name(made, name) == 1 && X509_set_pubkey(made, &key) == 1 &&
      X509_sign(made, &key, nullptr) > 0;
  return is_made ? std::move(certificate) : nullptr;
}

bool configure(SSL_CTX& context, EVP_PKEY& key) {
  const Certificate certificate = self_signed(key);
  SSL_CTX_set_options(&context, SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(&context, SSL_MODE_RELEASE_BUFFERS);
  return certificate && SSL_CTX_set_min_proto_version(&context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(&context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(&context, 0) == 1 &&
         SSL_CTX_set_ciphersuites(&context,
                                  "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1 &&
         SSL_CTX_set1_groups_list(&context, "X25519") == 1 &&
         SSL_CTX_set1_sigalgs_list(&context, "ed25519") == 1 &&
         SSL_CTX_set1_client_sigalgs_list(&context, "ed25519") == 1 &&
         SSL_CTX_use_certificate(&context, certificate.get()) == 1 &&
         SSL_CTX_use_PrivateKey(&context, &key) == 1;
}

}  // namespace

Result<std::shared_ptr<const LinkTls>> LinkTls::make(NodeId self, const PrivateKeys& own,
                                                     std::span<const Member> members) {
  std::shared_ptr<LinkTls> made(new LinkTls);
  for (const Member& member : members) {
    if (member.id < kFirstClientId) made->replicas_.push_back(member.public_keys.signing);
    if (member.id != self) made->others_.insert(member.public_keys.signing.bytes);
  }
  const EvpKey key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, own.signing.bytes.data(), kKeySize));
  made->context_.reset(SSL_CTX_new(TLS_method()));
  if (!key || !made->context_ || !configure(*made->context_, *key))
    return Error{ErrorKind::io, "OpenSSL could not prepare encrypted links"};
  SSL_CTX_set_verify(made->context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  SSL_CTX_set_cert_verify_callback(made->context_.get(), on_certificate, made.get());
  return std::shared_ptr<const LinkTls>(std::move(made));
}

std::unique_ptr<LinkChannel> LinkTls::make_channel() const {
  std::unique_ptr<LinkChannel> channel(new LinkChannel);
  channel->ssl_.reset(SSL_new(context_.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (!channel->ssl_ || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return nullptr;
  }
  SSL* const ssl = channel->ssl_.get();
  SSL_set_bio(ssl, in, out);
  channel->in_ = in;
  channel->out_ = out;
  SSL_set_app_data(ssl, channel.get());
  SSL_set_msg_callback(ssl, LinkChannel::on_message);
  SSL_set_msg_callback_arg(ssl, channel.get());
  return channel;
}

std::unique_ptr<LinkChannel> LinkTls::connect(NodeId replica) const {
  ASSERT(replica < replicas_.size());
  auto channel = make_channel();
  if (!channel) return nullptr;
  channel->wanted_ = replicas_[replica];
  SSL_set_connect_state(channel->ssl_.get());
  return channel;
}

std::unique_ptr<LinkChannel> LinkTls::accept() const {
  auto channel = make_channel();
  if (channel) SSL_set_accept_state(channel->ssl_.get());
  return channel;
}

bool LinkTls::is_allowed(const LinkChannel& channel, const KeyBytes& shown) const {
  return channel.wanted_ ? channel.wanted_->bytes == shown : others_.contains(shown);
}

// In place of the verification of a chain. That the peer has the key is shown by its signature over
// the handshake, which OpenSSL checks.
int LinkTls::on_certificate(X509_STORE_CTX* store, void* self) {
  auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& channel = *static_cast<LinkChannel*>(SSL_get_app_data(ssl));
  KeyBytes shown{};
  std::size_t size = shown.size();
  const X509* const certificate = X509_STORE_CTX_get0_cert(store);
  const EVP_PKEY* const key = certificate != nullptr ? X509_get0_pubkey(certificate) : nullptr;
  const bool is_key = key != nullptr && EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 &&
                      EVP_PKEY_get_raw_public_key(key, shown.data(), &size) == 1 &&
                      size == shown.size();
  if (is_key && static_cast<const LinkTls*>(self)->is_allowed(channel, shown)) return 1;
  channel.failure_ = channel.wanted_ ? "its key is not the one that the group file lists for it"
                                     : "its key is not one of another member of the group file";
  X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_UNTRUSTED);
  return 0;
}

}  // namespace prophecy::pbft

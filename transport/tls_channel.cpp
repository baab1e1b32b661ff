#include "transport/tls_channel.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/assert.hpp"

namespace prophecy::transport {
namespace {

constexpr std::size_t kRecordBytesMax = 16 << 10;

// A peer has some reason for a few messages behind the handshake, and for more with what it sends.
constexpr std::uint64_t kLateMessagesMax = 32;
constexpr std::uint64_t kBytesPerLateMessage = 64 << 10;

// SSL_get_error() takes what an earlier call left for its own. There is hardly ever something, and
// clearing costs several times as much as asking.
void forget_errors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

// What OpenSSL asks of a socket.
struct TlsChannel::Bio {
  static TlsChannel& channel_of(BIO* bio) { return *static_cast<TlsChannel*>(BIO_get_data(bio)); }

  static int read(BIO* bio, char* into, std::size_t size, std::size_t* received) {
    BIO_clear_retry_flags(bio);
    *received = 0;
    TlsChannel& channel = channel_of(bio);
    if (channel.exhausts_us()) return 0;
    const IoResult result = channel.socket_.receive(into, size);
    *received = result.size;
    if (result.status == IoStatus::blocked) BIO_set_retry_read(bio);
    if (result.status == IoStatus::ended) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return result.status == IoStatus::done ? 1 : 0;
  }

  static int write(BIO* bio, const char* from, std::size_t size, std::size_t* sent) {
    BIO_clear_retry_flags(bio);
    const IoResult result = channel_of(bio).socket_.send({from, size}, {});
    *sent = result.size;
    if (result.status == IoStatus::blocked) BIO_set_retry_write(bio);
    return result.status == IoStatus::done ? 1 : 0;
  }

  static long control(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
    switch (command) {
      case BIO_CTRL_FLUSH:
        return 1;
      case BIO_CTRL_EOF:
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
      default:
        return 0;
    }
  }

  static const BIO_METHOD* method() {
    static const BIO_METHOD* const made_once = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "ready socket");
      ASSERT(made != nullptr);
      BIO_meth_set_read_ex(made, read);
      BIO_meth_set_write_ex(made, write);
      BIO_meth_set_ctrl(made, control);
      return made;
    }();
    return made_once;
  }
};

std::unique_ptr<TlsChannel> TlsChannel::make(SSL_CTX& context, ReadySocket& socket, Side side) {
  std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(&context));
  BIO* bio = ssl ? BIO_new(Bio::method()) : nullptr;
  if (bio == nullptr) return nullptr;
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  if (side == Side::server) {
    SSL_set_accept_state(ssl.get());
  } else {
    SSL_set_connect_state(ssl.get());
  }
  std::unique_ptr<TlsChannel> channel(new TlsChannel(std::move(ssl), socket));
  BIO_set_data(bio, channel.get());
  SSL_set_msg_callback(&channel->ssl(), on_message);
  SSL_set_msg_callback_arg(&channel->ssl(), channel.get());
  return channel;
}

void TlsChannel::on_message(int is_sent, int /*version*/, int type, const void* /*message*/,
                            std::size_t /*size*/, SSL* /*ssl*/, void* channel) {
  auto& self = *static_cast<TlsChannel*>(channel);
  if (is_sent == 0 && type == SSL3_RT_HANDSHAKE && self.established_) ++self.late_messages_;
}

bool TlsChannel::exhausts_us() const {
  return late_messages_ > kLateMessagesMax + received_bytes_ / kBytesPerLateMessage;
}

IoStatus TlsChannel::handshake() {
  if (broken_) return IoStatus::failed;
  forget_errors();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) {
    established_ = true;
    return IoStatus::done;
  }
  return status_of(result);
}

IoStatus TlsChannel::status_of(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return IoStatus::blocked;
    case SSL_ERROR_ZERO_RETURN:
      return IoStatus::ended;
    default:
      broken_ = true;
      return IoStatus::failed;
  }
}

std::string TlsChannel::failure() {
  const unsigned long error = ERR_peek_last_error();
  if (error == 0) return "the connection has ended";
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "error " + std::to_string(error);
}

IoResult TlsChannel::read(char* into, std::size_t size) {
  if (broken_) return {IoStatus::failed, 0};
  forget_errors();
  std::size_t received = 0;
  const int result = SSL_read_ex(ssl_.get(), into, size, &received);
  received_bytes_ += received;
  return {result == 1 ? IoStatus::done : status_of(result), received};
}

IoResult TlsChannel::write(std::string_view first, std::string_view second) {
  if (broken_) return {IoStatus::failed, 0};
  std::size_t total = 0;
  std::array<char, kRecordBytesMax> record;
  while (!first.empty() || !second.empty()) {
    // One record of both pieces is one call to the kernel, and one read for the peer.
    std::string_view next = first.empty() ? second : first;
    if (!first.empty() && first.size() < record.size() && !second.empty()) {
      const std::size_t rest = std::min(second.size(), record.size() - first.size());
      std::memcpy(record.data(), first.data(), first.size());
      std::memcpy(record.data() + first.size(), second.data(), rest);
      next = {record.data(), first.size() + rest};
    }
    forget_errors();
    std::size_t sent = 0;
    const int result = SSL_write_ex(ssl_.get(), next.data(), next.size(), &sent);
    if (result != 1) {
      const IoStatus status = status_of(result);
      return total > 0 && status == IoStatus::blocked ? IoResult{IoStatus::done, total}
                                                      : IoResult{status, total};
    }
    total += sent;
    const std::size_t of_first = std::min(sent, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(sent - of_first);
  }
  return {IoStatus::done, total};
}

bool TlsChannel::end() {
  if (broken_ || !established_) return true;
  forget_errors();
  const int result = SSL_shutdown(ssl_.get());
  return result >= 0 || SSL_get_error(ssl_.get(), result) != SSL_ERROR_WANT_WRITE;
}

void TlsChannel::read_ahead(std::size_t bytes) {
  SSL_set_read_ahead(ssl_.get(), 1);
  SSL_set_default_read_buffer_len(ssl_.get(), bytes);
}

bool TlsChannel::speaks_http2() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_.get(), &name, &size);
  return std::string_view(reinterpret_cast<const char*>(name), size) == "h2";
}

bool TlsChannel::resumed() const {
  return SSL_session_reused(ssl_.get()) == 1;
}

// A resumed session brings its certificate along, which nobody has looked at since.
bool TlsChannel::peer_verified() const {
  const X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  return certificate != nullptr && SSL_get_verify_result(ssl_.get()) == X509_V_OK &&
         X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

bool TlsChannel::peer_is_named(const std::string& name) const {
  constexpr unsigned kFlags = X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return peer_verified() && X509_check_host(SSL_get0_peer_certificate(ssl_.get()), name.data(),
                                            name.size(), kFlags, nullptr) == 1;
}

PeerFault TlsChannel::peer_fault() const {
  switch (SSL_get_verify_result(ssl_.get())) {
    case X509_V_OK:
      return PeerFault::none;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return PeerFault::expired;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return PeerFault::wrong_name;
    default:
      return PeerFault::untrusted;
  }
}

bool TlsChannel::peer_has_expired() const {
  return SSL_get0_peer_certificate(ssl_.get()) != nullptr && resumed() && !peer_verified();
}

}  // namespace prophecy::transport

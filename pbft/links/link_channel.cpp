#include "pbft/links/link_channel.hpp"

#include <algorithm>
#include <array>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "base/assert.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// A peer has some reason for a few messages behind the handshake, and for more with what it sends.
constexpr std::uint64_t kLateMessagesMax = 32;
constexpr std::uint64_t kBytesPerLateMessage = 64 << 10;

constexpr std::uint8_t kAlert = 21;
constexpr std::uint8_t kHandshake = 22;
constexpr std::array<std::uint8_t, 7> kRefusal{kAlert, 3, 3, 0, 2, 2, 70};  // protocol_version

// A record begins with its type and a version 3.x.
bool is_record(ByteView bytes) {
  const bool is_known = bytes[0] == kAlert || bytes[0] == kHandshake;
  return is_known && (bytes.size() < 2 || bytes[1] == 3);
}

}  // namespace

// Where a ClientHello has a 1, behind the length of a record, a frame has its version behind its
// length and its type: no frame looks like one.
static_assert(kWireVersion != 1);

bool looks_like_tls(ByteView bytes) {
  if (bytes.size() < kRefusal.size() || !is_record(bytes) || (bytes[2] != 1 && bytes[2] != 3))
    return false;
  // A fatal alert of two bytes, or a ClientHello: the length of one is less than 64 KiB.
  if (bytes[0] == kAlert) return bytes[3] == 0 && bytes[4] == 2 && bytes[5] == 2;
  return bytes[3] <= 2 && bytes[5] == 1 && bytes[6] == 0;
}

ByteView refusing_alert() {
  return kRefusal;
}

std::span<std::uint8_t> LinkChannel::space() {
  if (!input_) input_ = std::make_unique_for_overwrite<std::uint8_t[]>(kInputMax);
  return {input_.get(), kInputMax};
}

void LinkChannel::filled(std::size_t bytes) {
  ASSERT(bytes <= kInputMax);
  const ByteView all(input_.get(), bytes);
  if (!std::exchange(has_input_, true) && !all.empty() && !is_record(all)) fail(kPeerIsPlain);
  if (!failure_.empty()) return;
  if (BIO_write(in_, all.data(), static_cast<int>(all.size())) != static_cast<int>(all.size()))
    fail("no memory");
}

LinkChannel::Status LinkChannel::fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
  return Status::failed;
}

void LinkChannel::on_message(int is_sent, int /*version*/, int type, const void* /*message*/,
                             std::size_t /*size*/, SSL* /*ssl*/, void* channel) {
  auto& self = *static_cast<LinkChannel*>(channel);
  if (is_sent == 0 && type == SSL3_RT_HANDSHAKE && self.is_secured_) ++self.late_messages_;
}

LinkChannel::Status LinkChannel::handshake() {
  if (!failure_.empty()) return Status::failed;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result != 1) return status_of(result);
  is_secured_ = true;
  return Status::done;
}

LinkChannel::Status LinkChannel::status_of(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Status::blocked;
    case SSL_ERROR_ZERO_RETURN:
      return Status::ended;
    default:
      break;
  }
  const unsigned long error = ERR_peek_last_error();
  // How a member refuses TLS.
  if (ERR_GET_LIB(error) == ERR_LIB_SSL &&
      ERR_GET_REASON(error) == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION)
    return fail(kPeerIsPlain);
  const char* const reason = ERR_reason_error_string(error);
  return fail("TLS: " + std::string(reason != nullptr ? reason : "the connection has failed"));
}

LinkChannel::Read LinkChannel::read(std::span<std::uint8_t> into) {
  ASSERT(is_secured_);
  if (!failure_.empty()) return {Status::failed, 0};
  ERR_clear_error();
  std::size_t bytes = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &bytes);
  read_bytes_ += bytes;
  if (late_messages_ > kLateMessagesMax + read_bytes_ / kBytesPerLateMessage)
    return {fail("too many messages behind the handshake"), 0};
  return {result == 1 ? Status::done : status_of(result), bytes};
}

bool LinkChannel::write(ByteView bytes) {
  ASSERT(is_secured_);
  while (!bytes.empty() && failure_.empty()) {
    ERR_clear_error();
    std::size_t taken = 0;
    const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &taken);
    if (result != 1) {
      static_cast<void>(status_of(result));
      fail("the session takes no more");
    }
    bytes = bytes.subspan(taken);
  }
  return failure_.empty();
}

ByteView LinkChannel::output() {
  if (output_begin_ == output_.size()) {
    output_.clear();
    output_begin_ = 0;
    const std::size_t size = BIO_ctrl_pending(out_);
    if (size > 0) {
      output_.resize(size);
      const int read = BIO_read(out_, output_.data(), static_cast<int>(size));
      ASSERT(read == static_cast<int>(size));
    }
  }
  return ByteView(output_).subspan(output_begin_);
}

}  // namespace prophecy::pbft

#include "sketch/keyed_digests.hpp"

#include <openssl/crypto.h>

namespace prophecy::sketch {
namespace {

// Of one size, so that none is the beginning of another.
constexpr std::array<std::string_view, 3> kDomains{"prophecy.s(q).v1", "prophecy.s(r).v1",
                                                   "prophecy.s(b).v1"};
constexpr std::string_view kHashKeyDomain = "prophecy.gmac.k1";
constexpr std::string_view kCipherKeyDomain = "prophecy.gmac.k2";
static_assert(kDomains[0].size() == kDomains[1].size());
static_assert(kDomains[0].size() == kDomains[2].size());
static_assert(kDomains[0].size() == kHashKeyDomain.size());
static_assert(kDomains[0].size() == kCipherKeyDomain.size());

template <class Hash>
Hmac<Hash> begin_hmac(ByteView secret, std::string_view domain, const SketchScope& scope) {
  Hmac<Hash> hmac(secret);
  hmac.update(as_bytes(domain));
  hmac.update(scope.profile);
  update_sized(hmac, as_bytes(scope.group));
  return hmac;
}

class GmacKey {
 public:
  GmacKey(ByteView secret, std::string_view domain, const SketchScope& scope)
      : bytes_(begin_hmac<Sha256>(secret, domain, scope).finish()) {}
  GmacKey(const GmacKey&) = delete;
  GmacKey& operator=(const GmacKey&) = delete;
  ~GmacKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  Sha256::Digest bytes_;
  static_assert(sizeof(bytes_) == EncryptedGmac::kKeySize);
};

}  // namespace

template <class Hash>
HmacDigest<Hash>::HmacDigest(ByteView secret, const SketchScope& scope)
    : begun_{begin_hmac<Hash>(secret, kDomains[0], scope),
             begin_hmac<Hash>(secret, kDomains[1], scope),
             begin_hmac<Hash>(secret, kDomains[2], scope)} {}

template class HmacDigest<Sha1>;
template class HmacDigest<Sha256>;

GmacDigest::GmacDigest(ByteView secret, const SketchScope& scope)
    : gmac_(GmacKey(secret, kHashKeyDomain, scope).bytes(),
            GmacKey(secret, kCipherKeyDomain, scope).bytes()) {}

GmacDigest::Message GmacDigest::begin(Domain domain) const {
  Message message(gmac_);
  message.update(as_bytes(kDomains[static_cast<std::size_t>(domain)]));
  return message;
}

}  // namespace prophecy::sketch

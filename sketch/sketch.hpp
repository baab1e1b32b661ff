// s(): the digest of a canonical form, of 160 bits (paper, section 3.1). Keyed with the
// installation's secret, and over a domain tag, the profile's id, the group's name and the form, so
// that neither an origin nor a client can compute a sketch, a changed profile matches no old one,
// and what one group answered says nothing of another.
#pragma once

#include <cstdint>
#include <variant>

#include "base/error.hpp"
#include "canonical/answer_form.hpp"
#include "canonical/profile.hpp"
#include "canonical/request_form.hpp"
#include "sketch/keyed_digests.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketch {

// Kept tables and exports hold the number: none is given twice.
enum class DigestKind : std::uint8_t {
  sha1,    // HMAC-SHA-1, the default
  sha256,  // HMAC-SHA-256, its first 160 bits
  gmac,    // AES-256-GMAC, encrypted: 160 bits with the strength of 128
};

constexpr std::size_t kSecretSize = 32;

// Computes without allocating. For one thread at a time.
class SketchFunction {
 public:
  // `secret` has kSecretSize bytes. The profile is needed only here.
  SketchFunction(DigestKind kind, ByteView secret, const Profile& profile, std::string_view group);

  // Requires the form of a read: a write has no key.
  [[nodiscard]] Sketch of(const RequestForm& request) const;
  [[nodiscard]] Sketch of(const AnswerForm& answer) const;

 private:
  using Digest = std::variant<HmacDigest<Sha1>, HmacDigest<Sha256>, GmacDigest>;

  [[nodiscard]] static Digest make(DigestKind kind, ByteView secret, const SketchScope& scope);

  Digest digest_;
};

}  // namespace prophecy::sketch

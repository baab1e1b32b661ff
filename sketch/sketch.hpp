// s(): the 160-bit digest of a canonical form (paper, section 3.1). HMAC with the installation's
// secret, over a domain tag, the profile's id and the form, so that neither an origin nor a client
// can compute a sketch, and a changed profile matches no old one.
#pragma once

#include <array>
#include <cstdint>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "sketch/answer_form.hpp"
#include "sketch/profile.hpp"
#include "sketch/request_form.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy::sketch {

enum class DigestKind : std::uint8_t {
  sha1,    // HMAC-SHA-1
  sha256,  // HMAC-SHA-256, its first 160 bits
};

constexpr std::size_t kSecretSize = 32;

// Immutable once made; may be shared by threads. Computes without allocating.
class SketchFunction {
 public:
  // `secret` has kSecretSize bytes.
  SketchFunction(DigestKind kind, ByteView secret, const Profile& profile);

  [[nodiscard]] Sketch of(const RequestForm& request) const;
  [[nodiscard]] Sketch of(const AnswerForm& answer) const;
};

}  // namespace prophecy::sketch

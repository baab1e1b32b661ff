// s(): the 160-bit digest of a canonical form (paper, section 3.1). HMAC with the installation's
// secret, over a domain tag, the profile's id, the group's name and the form, so that neither an
// origin nor a client can compute a sketch, a changed profile matches no old one, and what one
// group answered says nothing of another.
#pragma once

#include <cstdint>
#include <variant>

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
  // `secret` has kSecretSize bytes. The profile is needed only here.
  SketchFunction(DigestKind kind, ByteView secret, const Profile& profile, std::string_view group);

  // Requires the form of a read: a write has no key.
  [[nodiscard]] Sketch of(const RequestForm& request) const;
  [[nodiscard]] Sketch of(const AnswerForm& answer) const;

 private:
  // Keyed, with all that comes before the message already taken in; each starts from a copy.
  template <class Hash>
  struct Prepared {
    Hmac<Hash> request;
    Hmac<Hash> answer;
    Hmac<Hash> blocks;  // of an answer in blocks
  };
  using Either = std::variant<Prepared<Sha1>, Prepared<Sha256>>;

  template <class Hash>
  [[nodiscard]] static Prepared<Hash> prepare(ByteView secret, const Profile& profile,
                                              std::string_view group);

  Either prepared_;
};

}  // namespace prophecy::sketch

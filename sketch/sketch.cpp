#include "sketch/sketch.hpp"

#include "base/assert.hpp"

namespace prophecy::sketch {

SketchFunction::Digest SketchFunction::make(DigestKind kind, ByteView secret,
                                            const SketchScope& scope) {
  ASSERT(secret.size() == kSecretSize);
  switch (kind) {
    case DigestKind::sha1:
      return HmacDigest<Sha1>(secret, scope);
    case DigestKind::sha256:
      return HmacDigest<Sha256>(secret, scope);
    case DigestKind::gmac:
      return GmacDigest(secret, scope);
  }
  UNREACHABLE();
}

SketchFunction::SketchFunction(DigestKind kind, ByteView secret, const Profile& profile,
                               std::string_view group)
    : digest_(make(kind, secret, {.profile = profile.id(), .group = group})) {}

Sketch SketchFunction::of(const RequestForm& request) const {
  ASSERT(request.is_read);
  return std::visit(
      [&](const auto& digest) {
        auto message = digest.begin(Domain::request);
        update_sized(message, request.key);
        return message.finish();
      },
      digest_);
}

Sketch SketchFunction::of(const AnswerForm& answer) const {
  return std::visit(
      [&](const auto& digest) {
        auto message = digest.begin(answer.in_blocks() ? Domain::blocks : Domain::answer);
        update_sized(message, answer.head);
        if (answer.in_blocks()) {
          update_integer(message, answer.blocks.length);
          update_integer(message, answer.blocks.block_bytes);
          update_sized(message, answer.blocks.digests);
        } else {
          update_sized(message, as_bytes(answer.body));
        }
        return message.finish();
      },
      digest_);
}

}  // namespace prophecy::sketch

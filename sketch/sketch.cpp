#include "sketch/sketch.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace prophecy::sketch {
namespace {

// Of one size, so that neither is the beginning of the other.
constexpr std::string_view kRequestDomain = "prophecy.s(q).v1";
constexpr std::string_view kAnswerDomain = "prophecy.s(r).v1";
static_assert(kRequestDomain.size() == kAnswerDomain.size());

template <class Hash>
void update_sized(Hmac<Hash>& hmac, ByteView bytes) {
  std::array<std::uint8_t, 8> size;
  for (std::size_t i = 0; i < size.size(); ++i) {
    size[i] = static_cast<std::uint8_t>(std::uint64_t{bytes.size()} >> (8 * i));
  }
  hmac.update(size);
  hmac.update(bytes);
}

template <class Hash>
Sketch finish(Hmac<Hash>& hmac) {
  const auto digest = hmac.finish();
  Sketch sketch;
  std::copy_n(digest.begin(), sketch.size(), sketch.begin());
  return sketch;
}

}  // namespace

template <class Hash>
SketchFunction::Prepared<Hash> SketchFunction::prepare(ByteView secret, const Profile& profile,
                                                       std::string_view group) {
  ASSERT(secret.size() == kSecretSize);
  Prepared<Hash> prepared{Hmac<Hash>(secret), Hmac<Hash>(secret)};
  prepared.request.update(as_bytes(kRequestDomain));
  prepared.request.update(profile.id());
  update_sized(prepared.request, as_bytes(group));
  prepared.answer.update(as_bytes(kAnswerDomain));
  prepared.answer.update(profile.id());
  update_sized(prepared.answer, as_bytes(group));
  return prepared;
}

SketchFunction::SketchFunction(DigestKind kind, ByteView secret, const Profile& profile,
                               std::string_view group)
    : prepared_(kind == DigestKind::sha1 ? Either(prepare<Sha1>(secret, profile, group))
                                         : Either(prepare<Sha256>(secret, profile, group))) {}

Sketch SketchFunction::of(const RequestForm& request) const {
  ASSERT(request.is_read);
  return std::visit(
      [&](const auto& prepared) {
        auto hmac = prepared.request;
        update_sized(hmac, request.key);
        return finish(hmac);
      },
      prepared_);
}

Sketch SketchFunction::of(const AnswerForm& answer) const {
  return std::visit(
      [&](const auto& prepared) {
        auto hmac = prepared.answer;
        update_sized(hmac, answer.head);
        update_sized(hmac, as_bytes(answer.body));
        return finish(hmac);
      },
      prepared_);
}

}  // namespace prophecy::sketch

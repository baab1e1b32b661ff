#include "sketch/sketch.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace prophecy::sketch {
namespace {

// Of one size, so that neither is the beginning of the other.
constexpr std::string_view kRequestDomain = "prophecy.s(q).v1";
constexpr std::string_view kAnswerDomain = "prophecy.s(r).v1";
constexpr std::string_view kBlocksDomain = "prophecy.s(b).v1";
static_assert(kRequestDomain.size() == kAnswerDomain.size());
static_assert(kRequestDomain.size() == kBlocksDomain.size());

template <class Hash>
void update_integer(Hmac<Hash>& hmac, std::uint64_t value) {
  std::array<std::uint8_t, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  hmac.update(bytes);
}

template <class Hash>
void update_sized(Hmac<Hash>& hmac, ByteView bytes) {
  update_integer(hmac, bytes.size());
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
  Prepared<Hash> prepared{Hmac<Hash>(secret), Hmac<Hash>(secret), Hmac<Hash>(secret)};
  const auto begin = [&](Hmac<Hash>& hmac, std::string_view domain) {
    hmac.update(as_bytes(domain));
    hmac.update(profile.id());
    update_sized(hmac, as_bytes(group));
  };
  begin(prepared.request, kRequestDomain);
  begin(prepared.answer, kAnswerDomain);
  begin(prepared.blocks, kBlocksDomain);
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
        auto hmac = answer.in_blocks() ? prepared.blocks : prepared.answer;
        update_sized(hmac, answer.head);
        if (answer.in_blocks()) {
          update_integer(hmac, answer.blocks.length);
          update_integer(hmac, answer.blocks.block_bytes);
          update_sized(hmac, answer.blocks.digests);
        } else {
          update_sized(hmac, as_bytes(answer.body));
        }
        return finish(hmac);
      },
      prepared_);
}

}  // namespace prophecy::sketch

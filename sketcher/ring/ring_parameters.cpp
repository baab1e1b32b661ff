#include "sketcher/ring/ring_parameters.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/random.hpp"

namespace prophecy::sketcher {
namespace {

constexpr std::size_t kFingerprintBytes = 16;

template <class Digest>
std::string fingerprint(const Digest& digest) {
  return to_hex(ByteView(digest).first(kFingerprintBytes));
}

std::string to_text(sketch::DigestKind digest) {
  switch (digest) {
    case sketch::DigestKind::sha1:
      return "hmac-sha1";
    case sketch::DigestKind::sha256:
      return "hmac-sha256";
    case sketch::DigestKind::gmac:
      return "gmac";
  }
  UNREACHABLE();
}

}  // namespace

dht::Parameters ring_parameters(const Installation& installation) {
  const LivingRingSettings& living = *installation.settings.ring->living;
  return {.cluster = installation.ring_tls->authority,
          .digest = to_text(installation.settings.digest),
          .secret = fingerprint(installation.table_identity.key),
          .profile = fingerprint(installation.table_identity.groups),
          .lease = living.lease,
          .group_only = living.without_zookeeper};
}

dht::Member ring_member(const RingSettings& settings) {
  const RingMember& own = settings.own();
  dht::Member member;
  member.holder.name = own.name;
  member.holder.weight = own.role == MemberRole::request ? 0 : own.weight;
  SecureRandom random;
  while (member.holder.instance == 0)
    random.fill(
        {reinterpret_cast<std::uint8_t*>(&member.holder.instance), sizeof member.holder.instance});
  member.addresses = own.addresses;
  member.addresses.push_back(settings.living->hand_over);
  member.steps = dht::own_steps();
  return member;
}

bool shares_numbers(const Settings& settings) {
  return settings.groups.size() == 1 && has_order(settings);
}

bool has_order(const Settings& settings) {
  return std::any_of(settings.groups.begin(), settings.groups.end(),
                     [](const GroupSettings& group) { return group.kind == GroupKind::pbft; });
}

}  // namespace prophecy::sketcher

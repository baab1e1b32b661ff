#include "sketcher/installation/table_identity.hpp"

#include <algorithm>

#include "base/codec.hpp"
#include "base/digest.hpp"

namespace prophecy::sketcher {
namespace {

// With its length, so that no two lists of parts are one text.
void add(Sha256& hash, std::string_view part) {
  const std::string length = std::to_string(part.size()) + ' ';
  hash.update(as_bytes(length));
  hash.update(as_bytes(part));
}

// Who answers, and how it is agreed on. Where in the configuration a group stands is part of it:
// its numbers lie at that place.
void add(Sha256& hash, const GroupSettings& settings, const GroupInstallation& group) {
  add(hash, settings.name);
  add(hash, settings.kind == GroupKind::pbft ? "pbft" : "vote");
  add(hash, std::to_string(settings.faults));
  add(hash, std::to_string(settings.origins.size()));
  for (const OriginAddress& origin : settings.origins)
    add(hash, to_string(origin.address));
  if (group.pbft) {
    for (const Endpoint& address : group.pbft->group.addresses())
      add(hash, to_string(address));
  }
  hash.update(group.profile.id());
}

// What an agreed answer depends on beside its key.
void add(Sha256& hash, const sketch::Forwarding& forwarding) {
  add(hash, std::to_string(static_cast<unsigned>(forwarding.style)));
  add(hash, forwarding.group_client.to_string());
}

// Which partitions are this sketcher's: all, those that a configured list of members gives it, or
// now these and now those.
std::uint64_t ownership_of(const std::optional<RingSettings>& ring) {
  if (!ring) return 0;
  if (ring->living) return table::kChangingOwnership;
  Sha256 list;
  add(list, ring->name);
  for (const RingMember& member : ring->members) {
    add(list, member.name);
    add(list, std::to_string(static_cast<int>(member.role)));
    add(list, std::to_string(member.weight));
  }
  const Sha256::Digest digest = list.finish();
  return std::clamp<std::uint64_t>(Reader(digest).integer<std::uint64_t>(), 1,
                                   table::kChangingOwnership - 1);
}

}  // namespace

table::Identity table_identity(const Installation& installation, const sketch::Secret& secret) {
  table::Identity identity;
  identity.digest = static_cast<std::uint32_t>(installation.settings.digest);
  // Tells nothing of the secret.
  Hmac<Sha256> key(secret);
  key.update(as_bytes("the id of the sketch key in a history table"));
  identity.key = key.finish();
  Sha256 groups;
  for (std::size_t i = 0; i < installation.groups.size(); ++i)
    add(groups, installation.settings.groups[i], installation.groups[i]);
  add(groups, installation.settings.forwarding);
  identity.groups = groups.finish();
  identity.ownership_epoch = ownership_of(installation.settings.ring);
  return identity;
}

table::TransferKey transfer_key(const sketch::Secret& secret) {
  Hmac<Sha256> key(secret);
  key.update(as_bytes("the key of exports of a history table"));
  return key.finish();
}

Sha256::Digest settings_key(const sketch::Secret& secret) {
  Hmac<Sha256> key(secret);
  key.update(as_bytes("the key of settings that a ring's members agree on"));
  return key.finish();
}

std::uint64_t floor_seed(const sketch::Secret& secret) {
  Hmac<Sha256> key(secret);
  key.update(as_bytes("the seed of write floors"));
  const Sha256::Digest digest = key.finish();
  return Reader(digest).integer<std::uint64_t>();
}

}  // namespace prophecy::sketcher

#include "simulation/group_keys.hpp"

#include <map>
#include <vector>

#include "base/assert.hpp"

namespace prophecy::simulation {
namespace {

using Rings = std::map<NodeId, pbft::KeyRing>;

Rings derive_rings(std::uint32_t replicas) {
  std::vector<pbft::Member> members;
  std::map<NodeId, pbft::PrivateKeys> secrets;
  const auto add = [&](NodeId node) {
    pbft::PrivateKeys keys;
    for (pbft::PrivateKey* key : {&keys.exchange, &keys.signing}) {
      // Not the first byte: X25519 ignores its lowest bits.
      key->bytes[1] = static_cast<std::uint8_t>(node);
      key->bytes[2] = static_cast<std::uint8_t>(node >> 8);
    }
    members.push_back({node, *pbft::public_keys_of(keys)});
    secrets.emplace(node, keys);
  };
  for (NodeId node = 0; node < replicas; ++node)
    add(node);
  for (NodeId client = 0; client < kClientsMax; ++client)
    add(kFirstClientId + client);
  Rings rings;
  for (const auto& [node, keys] : secrets) {
    auto ring = pbft::KeyRing::derive(node, keys, as_bytes("simulated group"), members);
    ASSERT(ring.has_value());
    rings.emplace(node, std::move(*ring));
  }
  return rings;
}

}  // namespace

const pbft::KeyRing& key_ring_of(NodeId node, std::uint32_t replicas) {
  static std::map<std::uint32_t, Rings> groups;
  auto group = groups.find(replicas);
  if (group == groups.end()) group = groups.emplace(replicas, derive_rings(replicas)).first;
  return group->second.at(node);
}

}  // namespace prophecy::simulation

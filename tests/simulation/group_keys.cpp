#include "simulation/group_keys.hpp"

#include <map>
#include <vector>

#include "base/assert.hpp"

namespace prophecy::simulation {
namespace {

using Rings = std::map<NodeId, pbft::KeyRing>;

Rings derive_rings(std::uint32_t replicas) {
  std::vector<pbft::Member> members;
  std::map<NodeId, pbft::PrivateKey> secrets;
  const auto add = [&](NodeId node) {
    pbft::PrivateKey secret;
    // Not the first byte: X25519 ignores its lowest bits.
    secret.bytes[1] = static_cast<std::uint8_t>(node);
    secret.bytes[2] = static_cast<std::uint8_t>(node >> 8);
    members.push_back({node, *pbft::public_key_of(secret)});
    secrets.emplace(node, secret);
  };
  for (NodeId node = 0; node < replicas; ++node)
    add(node);
  for (NodeId client = 0; client < kClientsMax; ++client)
    add(kFirstClientId + client);
  Rings rings;
  for (const auto& [node, secret] : secrets) {
    auto ring = pbft::KeyRing::derive(node, secret, as_bytes("simulated group"), members);
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

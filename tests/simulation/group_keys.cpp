#include "simulation/group_keys.hpp"

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assert.hpp"
#include "simulation/cheap_keys.hpp"
#include "tests/support/established_keys.hpp"

namespace prophecy::simulation {
namespace {

using Rings = std::map<NodeId, pbft::KeyRing>;

template <typename MakeRing>
Rings rings_of(const MakeRing& make, std::uint32_t replicas) {
  Rings rings;
  for (NodeId node = 0; node < replicas; ++node)
    rings.emplace(node, make(node, replicas));
  for (NodeId client = kFirstClientId; client < kFirstClientId + kClientsMax; ++client)
    rings.emplace(client, make(client, replicas));
  return rings;
}

enum class SessionKeysAre : std::uint8_t { established, missing };

Rings derive_rings(std::uint32_t replicas, SessionKeysAre session_keys, Life life) {
  const std::string group = life == Life::present ? "simulated group" : "simulated group before";
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
    auto ring = pbft::KeyRing::derive(node, keys, as_bytes(group), members);
    ASSERT(ring.has_value());
    if (session_keys == SessionKeysAre::established) pbft::test::establish_with_all(*ring, members);
    rings.emplace(node, std::move(*ring));
  }
  return rings;
}

Rings make_rings(Keys keys, std::uint32_t replicas, Life life) {
  const auto with_life = [&](auto make) {
    return rings_of([=](NodeId self, std::uint32_t n) { return make(self, n, life); }, replicas);
  };
  switch (keys) {
    case Keys::cheap:
      return with_life(cheap_key_ring);
    case Keys::timeless:
      return with_life(timeless_key_ring);
    case Keys::gullible:
      return rings_of(gullible_key_ring, replicas);
    case Keys::trusting:
      return rings_of(trusting_key_ring, replicas);
    case Keys::cryptographic:
      return derive_rings(replicas, SessionKeysAre::established, life);
  }
  UNREACHABLE();
}

}  // namespace

std::map<NodeId, pbft::KeyRing> changing_key_rings(std::uint32_t replicas, Life life) {
  return derive_rings(replicas, SessionKeysAre::missing, life);
}

const pbft::KeyRing& key_ring_of(Keys keys, NodeId node, std::uint32_t replicas, Life life) {
  static std::map<std::tuple<Keys, std::uint32_t, Life>, Rings> groups;
  const std::tuple wanted(keys, replicas, life);
  auto group = groups.find(wanted);
  if (group == groups.end()) {
    group = groups.emplace(wanted, make_rings(keys, replicas, life)).first;
  }
  return group->second.at(node);
}

const pbft::KeyRing& later_key_ring_of(NodeId node, std::uint32_t replicas, std::uint64_t replaced,
                                       bool is_forgiving) {
  static std::map<std::tuple<std::uint32_t, std::uint64_t, bool>, Rings> groups;
  const std::tuple wanted(replicas, replaced, is_forgiving);
  auto group = groups.find(wanted);
  if (group == groups.end()) {
    const auto make = [&](NodeId self, std::uint32_t n) {
      return is_forgiving ? forgiving_key_ring(self, n, replaced)
                          : replaced_key_ring(self, n, replaced);
    };
    group = groups.emplace(wanted, rings_of(make, replicas)).first;
  }
  return group->second.at(node);
}

}  // namespace prophecy::simulation

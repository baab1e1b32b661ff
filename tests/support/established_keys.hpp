// Session keys that are there from the start, for tests that are not about how they come about: as
// if every member had told all others its one key, a client's being that of all its sessions.
#pragma once

#include <span>

#include "base/assert.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft::test {

inline PrivateKey session_secret_of(NodeId node) {
  PrivateKey key;
  // Not the first byte: X25519 ignores its lowest bits.
  key.bytes[3] = static_cast<std::uint8_t>(node);
  key.bytes[4] = static_cast<std::uint8_t>(node >> 8);
  return key;
}

inline KeyAnnouncement session_key_of(NodeId node) {
  const SessionRange sessions = is_client(node) ? SessionRange{0, kSessionsMax} : SessionRange{};
  return {{1, 1}, sessions, *exchange_key_of(session_secret_of(node))};
}

inline void establish_with_all(const KeyRing& ring, std::span<const Member> members) {
  SessionKeys& keys = *ring.sessions();
  const KeyAnnouncement own = session_key_of(ring.self());
  keys.set_sessions(own.sessions);
  ASSERT(keys.begin_epoch(own.epoch, session_secret_of(ring.self())));
  for (const Member& member : members) {
    if (!ring.knows(member.id)) continue;
    ASSERT(keys.install(member.id, session_key_of(member.id)) == SessionKeys::Installed::fresh);
  }
}

}  // namespace prophecy::pbft::test

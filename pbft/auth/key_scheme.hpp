// The primitives under a key ring: how one member makes tags and signatures, and checks those of
// others. The ring of a program has the cryptographic scheme that KeyRing::derive() makes. A
// simulation of many groups, which cannot wait for Ed25519, brings one of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"

namespace prophecy::pbft {

class SessionKeys;

constexpr std::size_t kTagSize = 16;
using Tag = std::array<std::uint8_t, kTagSize>;
constexpr std::size_t kSignatureSize = 64;
using Signature = std::array<std::uint8_t, kSignatureSize>;

class KeyScheme {
 public:
  KeyScheme() = default;
  KeyScheme(const KeyScheme&) = delete;
  KeyScheme& operator=(const KeyScheme&) = delete;
  virtual ~KeyScheme() = default;

  [[nodiscard]] virtual bool knows(NodeId member) const = 0;
  // Of a client, the process that has this session.
  [[nodiscard]] virtual bool has_key(NodeId member, std::uint32_t session) const = 0;
  // Requires knows(to). Zero without a key.
  [[nodiscard]] virtual Tag tag(NodeId to, std::uint32_t session,
                                const Sha256::Digest& content) const = 0;
  // False for a stranger, without a key, for a wrong length and for a wrong tag.
  [[nodiscard]] virtual bool verify(NodeId from, std::uint32_t session,
                                    const Sha256::Digest& content, ByteView tag) const = 0;
  [[nodiscard]] virtual Signature sign(const Sha256::Digest& content) const = 0;
  // False for a stranger, for a wrong length and for a wrong signature.
  [[nodiscard]] virtual bool verify_signature(NodeId member, const Sha256::Digest& content,
                                              ByteView signature) const = 0;
  // Null when the keys never change.
  [[nodiscard]] virtual SessionKeys* sessions() { return nullptr; }
};

}  // namespace prophecy::pbft

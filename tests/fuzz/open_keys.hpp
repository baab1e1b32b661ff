// Keys of a group of four with a client, under which every tag and every signature is right: so the
// fuzzer gets behind them, and does not spend its time there. More than f members may speak falsely
// then, which costs agreement, and must not cost more.
#pragma once

#include <array>
#include <memory>

#include "pbft/auth/key_ring.hpp"

namespace prophecy::pbft::fuzz {

constexpr std::uint32_t kReplicas = 4;

class OpenScheme final : public KeyScheme {
 public:
  [[nodiscard]] bool knows(NodeId member) const override {
    return member < kReplicas || member == kFirstClientId;
  }
  [[nodiscard]] bool has_key(NodeId member, std::uint32_t /*session*/) const override {
    return knows(member);
  }
  [[nodiscard]] Tag tag(NodeId /*to*/, std::uint32_t /*session*/,
                        const Sha256::Digest& /*content*/) const override {
    return {};
  }
  // Some are wrong, as the fuzzer likes it.
  [[nodiscard]] bool verify(NodeId from, std::uint32_t /*session*/,
                            const Sha256::Digest& /*content*/, ByteView tag) const override {
    return knows(from) && tag.size() == kTagSize && tag[0] % 2 == 0;
  }
  [[nodiscard]] Signature sign(const Sha256::Digest& /*content*/) const override { return {}; }
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& /*content*/,
                                      ByteView signature) const override {
    return knows(member) && signature.size() == kSignatureSize && signature[0] % 2 == 0;
  }
};

inline const KeyRing& open_ring(NodeId node) {
  static const std::array<KeyRing, kReplicas + 1> rings{
      KeyRing{0, kReplicas, std::make_unique<OpenScheme>()},
      KeyRing{1, kReplicas, std::make_unique<OpenScheme>()},
      KeyRing{2, kReplicas, std::make_unique<OpenScheme>()},
      KeyRing{3, kReplicas, std::make_unique<OpenScheme>()},
      KeyRing{kFirstClientId, kReplicas, std::make_unique<OpenScheme>()}};
  return rings[node < kReplicas ? node : kReplicas];
}

}  // namespace prophecy::pbft::fuzz

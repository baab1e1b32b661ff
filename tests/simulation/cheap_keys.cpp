#include "simulation/cheap_keys.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <xxhash.h>

#include "base/assert.hpp"

namespace prophecy::simulation {
namespace {

// What a hash is for: one for a purpose can never stand for another.
enum class Purpose : std::uint64_t { tag = 0x7461676b6579, signature = 0x7369676e6b6579 };

constexpr NodeId kToEverybody = UINT32_MAX;

// `replaced`: how often the keys of both have been.
XXH128_hash_t keyed(Life life, Purpose purpose, NodeId from, NodeId to, std::uint64_t replaced,
                    const Sha256::Digest& content) {
  const std::uint64_t route = (std::uint64_t{from} << 32) | to;
  const std::uint64_t key = static_cast<std::uint64_t>(purpose) ^ static_cast<std::uint64_t>(life) ^
                            (route * 0x9e3779b97f4a7c15ULL) ^ (replaced << 8);
  return XXH3_128bits_withSeed(content.data(), content.size(), key);
}

class CheapScheme : public pbft::KeyScheme {
 public:
  CheapScheme(NodeId self, std::uint32_t replicas, Life life = Life::present)
      : CheapScheme(self, replicas, life, life) {}
  CheapScheme(NodeId self, std::uint32_t replicas, std::uint64_t replaced)
      : CheapScheme(self, replicas) {
    replaced_ = replaced;
  }

  [[nodiscard]] bool knows(NodeId member) const override {
    if (member == self_) return false;
    return member < replicas_ || (is_client(member) && !is_client(self_));
  }
  [[nodiscard]] bool has_key(NodeId member, std::uint32_t /*session*/) const override {
    return knows(member);
  }
  [[nodiscard]] pbft::Tag tag(NodeId to, std::uint32_t /*session*/,
                              const Sha256::Digest& content) const override {
    ASSERT(knows(to));
    ++key_work().tags;
    return tag_between(self_, to, content);
  }
  [[nodiscard]] bool verify(NodeId from, std::uint32_t /*session*/, const Sha256::Digest& content,
                            ByteView tag) const override {
    ++key_work().tags;
    if (!knows(from) || tag.size() != pbft::kTagSize) return false;
    const pbft::Tag expected = tag_between(from, self_, content);
    return std::equal(expected.begin(), expected.end(), tag.begin());
  }
  [[nodiscard]] pbft::Signature sign(const Sha256::Digest& content) const override {
    ++key_work().signatures_made;
    return signature_of(self_, content);
  }
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const override {
    ++key_work().signatures_checked;
    if (member >= replicas_ && !is_client(member)) return false;
    if (signature.size() != pbft::kSignatureSize) return false;
    const pbft::Signature expected = signature_of(member, content);
    return std::equal(expected.begin(), expected.end(), signature.begin());
  }

 protected:
  CheapScheme(NodeId self, std::uint32_t replicas, Life life_of_tags, Life life_of_signatures)
      : self_(self),
        replicas_(replicas),
        life_of_tags_(life_of_tags),
        life_of_signatures_(life_of_signatures) {}

 private:
  [[nodiscard]] pbft::Tag tag_between(NodeId from, NodeId to, const Sha256::Digest& content) const {
    const XXH128_hash_t hash =
        keyed(life_of_tags_, Purpose::tag, from, to, key_of(from) << 1 | key_of(to), content);
    pbft::Tag tag{};
    std::memcpy(tag.data(), &hash, tag.size());
    return tag;
  }
  [[nodiscard]] pbft::Signature signature_of(NodeId member, const Sha256::Digest& content) const {
    const XXH128_hash_t hash = keyed(life_of_signatures_, Purpose::signature, member, kToEverybody,
                                     key_of(member), content);
    pbft::Signature signature{};
    for (std::size_t at = 0; at < signature.size(); at += sizeof hash)
      std::memcpy(signature.data() + at, &hash, sizeof hash);
    return signature;
  }

  // 1 where it is not the first one.
  [[nodiscard]] std::uint64_t key_of(NodeId member) const {
    return member < replicas_ ? (replaced_ >> member) & 1 : 0;
  }

  NodeId self_;
  std::uint32_t replicas_;
  std::uint64_t replaced_ = 0;
  Life life_of_tags_;
  Life life_of_signatures_;
};

class ForgivingScheme final : public CheapScheme {
 public:
  ForgivingScheme(NodeId self, std::uint32_t replicas, std::uint64_t replaced)
      : CheapScheme(self, replicas, replaced), former_(self, replicas) {}

  [[nodiscard]] bool verify(NodeId from, std::uint32_t session, const Sha256::Digest& content,
                            ByteView tag) const override {
    return CheapScheme::verify(from, session, content, tag) ||
           former_.verify(from, session, content, tag);
  }
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const override {
    return CheapScheme::verify_signature(member, content, signature) ||
           former_.verify_signature(member, content, signature);
  }

 private:
  CheapScheme former_;
};

class TimelessScheme final : public CheapScheme {
 public:
  TimelessScheme(NodeId self, std::uint32_t replicas, Life life)
      : CheapScheme(self, replicas, life, Life::present) {}
};

class GullibleScheme final : public CheapScheme {
 public:
  using CheapScheme::CheapScheme;

  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const override {
    (void)member;
    (void)content;
    (void)signature;
    return true;
  }
};

class TrustingScheme final : public CheapScheme {
 public:
  using CheapScheme::CheapScheme;

  [[nodiscard]] bool verify(NodeId from, std::uint32_t session, const Sha256::Digest& content,
                            ByteView tag) const override {
    return is_client(from) || CheapScheme::verify(from, session, content, tag);
  }
};

}  // namespace

KeyWork& key_work() {
  static KeyWork work;
  return work;
}

pbft::KeyRing cheap_key_ring(NodeId self, std::uint32_t replicas, Life life) {
  return {self, replicas, std::make_unique<CheapScheme>(self, replicas, life)};
}

pbft::KeyRing replaced_key_ring(NodeId self, std::uint32_t replicas, std::uint64_t replaced) {
  return {self, replicas, std::make_unique<CheapScheme>(self, replicas, replaced)};
}

pbft::KeyRing forgiving_key_ring(NodeId self, std::uint32_t replicas, std::uint64_t replaced) {
  return {self, replicas, std::make_unique<ForgivingScheme>(self, replicas, replaced)};
}

pbft::KeyRing timeless_key_ring(NodeId self, std::uint32_t replicas, Life life) {
  return {self, replicas, std::make_unique<TimelessScheme>(self, replicas, life)};
}

pbft::KeyRing gullible_key_ring(NodeId self, std::uint32_t replicas) {
  return {self, replicas, std::make_unique<GullibleScheme>(self, replicas)};
}

pbft::KeyRing trusting_key_ring(NodeId self, std::uint32_t replicas) {
  return {self, replicas, std::make_unique<TrustingScheme>(self, replicas)};
}

}  // namespace prophecy::simulation

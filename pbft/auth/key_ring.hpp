// The MAC keys that one member shares with the others: for each pair and each direction its own,
// from X25519 and HKDF-SHA256 with the group's id and both members' ids. So no replica can speak
// for another, no message can be reflected to its sender, and none is valid in another group.
//
// A MAC is HMAC-SHA256, cut to 16 bytes, over the SHA-256 of what is authenticated: the content
// is hashed once, however many receivers there are. A broadcast message carries an authenticator,
// one tag for each replica in the order of their ids; the sender's own place is zero.
//
// A signature is Ed25519, for what a member has to prove to others than the one it speaks to. It
// is over the group's id, a purpose and the SHA-256 of the content, so that none is valid in
// another group, or for another use of the key.
//
// Immutable after derive(); may be read from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "pbft/auth/key_scheme.hpp"
#include "pbft/auth/keys.hpp"

namespace prophecy::pbft {

struct Member {
  NodeId id = 0;
  PublicKeys public_keys;
};

class KeyRing {
 public:
  // `members` lists all replicas (ids 0 to n-1) and all clients, `self` among them. Fails with
  // ErrorKind::unauthenticated when the private keys do not belong to the public ones listed for
  // `self`.
  [[nodiscard]] static Result<KeyRing> derive(NodeId self, const PrivateKeys& private_keys,
                                              ByteView group_id, std::span<const Member> members);

  // For tests: a ring over other primitives than the real ones.
  KeyRing(NodeId self, std::uint32_t replicas, std::unique_ptr<const KeyScheme> scheme);

  [[nodiscard]] NodeId self() const { return self_; }
  [[nodiscard]] std::uint32_t replicas() const { return replicas_; }
  // True for every other member that this one shares a key with (two clients share none).
  [[nodiscard]] bool knows(NodeId member) const { return scheme_->knows(member); }

  // Requires knows(to).
  [[nodiscard]] Tag tag(NodeId to, const Sha256::Digest& content) const {
    return scheme_->tag(to, content);
  }
  // False for a stranger, for a wrong length and for a wrong tag.
  [[nodiscard]] bool verify(NodeId from, const Sha256::Digest& content, ByteView tag) const {
    return scheme_->verify(from, content, tag);
  }

  // Appends one tag for each replica.
  void append_authenticator(const Sha256::Digest& content, Bytes& out) const;
  // Checks this replica's own place in an authenticator made by `from`.
  [[nodiscard]] bool verify_authenticator(NodeId from, const Sha256::Digest& content,
                                          ByteView authenticator) const;

  [[nodiscard]] Signature sign(const Sha256::Digest& content) const {
    return scheme_->sign(content);
  }
  // `member` may be any that is listed, this one and clients among them. False for a stranger, for
  // a wrong length and for a wrong signature.
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const {
    return scheme_->verify_signature(member, content, signature);
  }

 private:
  NodeId self_;
  std::uint32_t replicas_;
  std::unique_ptr<const KeyScheme> scheme_;
};

}  // namespace prophecy::pbft

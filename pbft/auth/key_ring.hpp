// What one member has to prove itself with, and to check the others: session keys for MACs
// (pbft/auth/session_keys.hpp), for each pair and each direction their own, so no replica can speak
// for another, no message can be reflected to its sender, and none is valid in another group; and
// the keys for signatures that the group's file lists.
//
// A MAC is HMAC-SHA256, cut to 16 bytes, over the SHA-256 of what is authenticated: the content
// is hashed once, however many receivers there are. A broadcast message carries an authenticator,
// one tag for each replica in the order of their ids; the sender's own place is zero, and so is
// that of a replica with which no session key is established yet.
//
// A signature is Ed25519, for what a member has to prove to others than the one it speaks to. It
// is over the group's id with that of its founding, a purpose and the SHA-256 of the content, so
// that none is valid in another group, in another life of this one, or for another use of the key.
//
// Constant but for its session keys, which a KeyExchange changes. One thread at a time.
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
#include "pbft/auth/session_keys.hpp"

namespace prophecy::pbft {

struct Member {
  NodeId id = 0;
  PublicKeys public_keys;
};

class KeyRing {
 public:
  // `group_id` names the group and its life (GroupFile::life()); `members` lists all replicas (ids
  // 0 to n-1) and all clients, `self` among them. Fails with ErrorKind::unauthenticated when the
  // private keys do not belong to the public ones listed for `self`. There are no session keys yet.
  [[nodiscard]] static Result<KeyRing> derive(NodeId self, const PrivateKeys& private_keys,
                                              ByteView group_id, std::span<const Member> members);

  // For tests: a ring over other primitives than the real ones.
  KeyRing(NodeId self, std::uint32_t replicas, std::unique_ptr<KeyScheme> scheme);

  [[nodiscard]] NodeId self() const { return self_; }
  [[nodiscard]] std::uint32_t replicas() const { return replicas_; }
  // True for every other member that this one may share a key with (two clients share none).
  [[nodiscard]] bool knows(NodeId member) const { return scheme_->knows(member); }

  // The session matters for clients, whose processes have keys of their own.
  [[nodiscard]] bool has_key(NodeId member, std::uint32_t session = 0) const {
    return scheme_->has_key(member, session);
  }
  // Requires knows(to). Zero without a key.
  [[nodiscard]] Tag tag(NodeId to, const Sha256::Digest& content, std::uint32_t session = 0) const {
    return scheme_->tag(to, session, content);
  }
  // False for a stranger, without a key, for a wrong length and for a wrong tag.
  [[nodiscard]] bool verify(NodeId from, const Sha256::Digest& content, ByteView tag,
                            std::uint32_t session = 0) const {
    return scheme_->verify(from, session, content, tag);
  }

  // Appends one tag for each replica.
  void append_authenticator(const Sha256::Digest& content, Bytes& out) const;
  // Checks this replica's own place in an authenticator made by `from`.
  [[nodiscard]] bool verify_authenticator(NodeId from, const Sha256::Digest& content,
                                          ByteView authenticator, std::uint32_t session = 0) const;

  [[nodiscard]] Signature sign(const Sha256::Digest& content) const {
    return scheme_->sign(content);
  }
  // `member` may be any that is listed, this one and clients among them. False for a stranger, for
  // a wrong length and for a wrong signature.
  [[nodiscard]] bool verify_signature(NodeId member, const Sha256::Digest& content,
                                      ByteView signature) const {
    return scheme_->verify_signature(member, content, signature);
  }

  // Null for a test's primitives that need none. Not a part of what the ring is, so they change
  // under a constant one.
  [[nodiscard]] SessionKeys* sessions() const { return scheme_->sessions(); }
  // Rises whenever tags may come out otherwise than before.
  [[nodiscard]] std::uint64_t generation() const {
    const SessionKeys* keys = sessions();
    return keys != nullptr ? keys->generation() : 0;
  }

 private:
  NodeId self_;
  std::uint32_t replicas_;
  std::unique_ptr<KeyScheme> scheme_;
};

}  // namespace prophecy::pbft

// The MAC keys of the moment: for each partner and each direction its own, from the X25519 secret
// of two keys that both made for a while (TOCS 2002, section 5.2.1, "key exchange"), and of the two
// that the group's file lists. So what was recorded stays closed to whoever steals key files later,
// and what was recorded before a restart convinces nobody after it.
//
// A member has a key of its own for each *epoch*, the current and the one before, and knows two of
// each partner. A tag is taken under any pair of these; it is made under the newest that the
// partner must have: its newest key, and the newest of ours that it has used. So nothing is lost
// while keys change.
//
// A partner is a replica; to a replica also a process of a client, several of which may share the
// client's id. They are told apart by their sessions.
//
// A plain object: private keys are handed in. Whether an announcement is true is KeyExchange's
// business (pbft/core/key_exchange.hpp). One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/ids.hpp"
#include "pbft/auth/key_scheme.hpp"
#include "pbft/auth/keys.hpp"
#include "pbft/auth/pair_key.hpp"

namespace prophecy::pbft {

struct KeyEpoch {
  std::uint64_t incarnation = 0;  // random: which run of the member's program
  std::uint32_t number = 0;       // rises within it

  friend bool operator==(const KeyEpoch&, const KeyEpoch&) = default;
};

struct SessionRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  [[nodiscard]] bool has(std::uint32_t session) const {
    return session >= first && session - first < count;
  }
  friend bool operator==(const SessionRange&, const SessionRange&) = default;
};

// What a member says about its key.
struct KeyAnnouncement {
  KeyEpoch epoch;
  SessionRange sessions;  // of a client's process; the default for a replica
  PublicKey key;

  friend bool operator==(const KeyAnnouncement&, const KeyAnnouncement&) = default;
};

class SessionKeys {
 public:
  // `group_id` is a part of every key.
  SessionKeys(NodeId self, Bytes group_id) : self_(self), group_id_(std::move(group_id)) {}

  // `secret` is what both have from the keys that the group's file lists.
  void add_partner(NodeId member, const PairSecret& secret);
  // Of this process, if it is a client's. Before the first epoch.
  void set_sessions(SessionRange sessions) { sessions_ = sessions; }

  // From now on this key is announced. The one before it stays valid, and the one before that is
  // destroyed. False for a key that is none.
  [[nodiscard]] bool begin_epoch(const KeyEpoch& epoch, const PrivateKey& key);
  // Nothing before the first epoch.
  [[nodiscard]] std::optional<KeyAnnouncement> own() const;

  enum class Installed : std::uint8_t { fresh, known, refused };
  // The partner has proven just now that this is its key. Refused: not a partner, a key of low
  // order, or one that is older than another of the same incarnation.
  Installed install(NodeId member, const KeyAnnouncement& announcement);

  // It is the partner's newest key already.
  [[nodiscard]] bool is_newest(NodeId member, const KeyAnnouncement& announcement) const;

  [[nodiscard]] bool knows(NodeId member) const { return members_.count(member) != 0; }
  [[nodiscard]] bool has_key(NodeId member, std::uint32_t session) const;
  // Zero when there is no key.
  [[nodiscard]] Tag tag(NodeId to, std::uint32_t session, const Sha256::Digest& content) const;
  [[nodiscard]] bool verify(NodeId from, std::uint32_t session, const Sha256::Digest& content,
                            ByteView tag) const;
  // Rises whenever tags may come out otherwise than before.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 private:
  struct OwnKey {
    KeyEpoch epoch;
    PrivateKey secret;
    PublicKey shown;
  };
  struct PartnerKey {
    KeyAnnouncement announced;
    // With the current own key and with the one before.
    std::array<std::optional<PairKeys>, 2> pairs;
  };
  struct Partner {
    SessionRange sessions;
    std::array<std::optional<PartnerKey>, 2> keys;  // the newest, and the one before
    // The number of the newest own key that it has used, as verifying shows.
    mutable std::uint32_t confirmed = 0;
  };
  struct Member {
    PairSecret secret;
    std::vector<Partner> partners;  // one for a replica
  };

  [[nodiscard]] const Partner* find(NodeId member, std::uint32_t session) const;
  [[nodiscard]] std::optional<PairKeys> pair(NodeId member, const PairSecret& secret,
                                             const OwnKey& own,
                                             const KeyAnnouncement& partner) const;
  [[nodiscard]] std::optional<PartnerKey> pair_with_own(NodeId member, const PairSecret& secret,
                                                        const KeyAnnouncement& announcement) const;
  void confirm(const Partner& partner, std::size_t own) const;
  [[nodiscard]] static Partner& partner_for(Member& member, const SessionRange& sessions);

  NodeId self_;
  Bytes group_id_;
  SessionRange sessions_;
  std::array<std::optional<OwnKey>, 2> own_;  // the current one, and the one before
  std::unordered_map<NodeId, Member> members_;
  // What a partner has used is learnt by verifying.
  mutable std::uint64_t generation_ = 0;
};

}  // namespace prophecy::pbft

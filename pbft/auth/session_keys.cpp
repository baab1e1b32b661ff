#include "pbft/auth/session_keys.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <openssl/crypto.h>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kMacPurpose = "prophecy pbft mac 2";
// Processes that share one client's id. Beyond it, the one that has been known for longest goes.
constexpr std::size_t kPartnersMax = 128;

Tag cut(const Sha256::Digest& mac) {
  Tag tag;
  std::copy_n(mac.begin(), tag.size(), tag.begin());
  return tag;
}

Tag tag_under(const Mac& key, const Sha256::Digest& content) {
  Mac mac = key;
  mac.update(content);
  return cut(mac.finish());
}

// One end of a pair, as the keys depend on it.
struct End {
  NodeId member = 0;
  const KeyEpoch& epoch;
  const PublicKey& key;
};

void write_end(Writer& writer, const End& end) {
  writer.integer(end.member);
  writer.integer(end.epoch.incarnation);
  writer.integer(end.epoch.number);
  writer.raw(end.key.bytes);
}

Bytes info_of(ByteView group_id, std::uint32_t first_session, const End& speaker,
              const End& listener) {
  Bytes info = to_bytes(kMacPurpose);
  Writer writer(info);
  writer.sized(group_id);
  writer.integer(first_session);
  write_end(writer, speaker);
  write_end(writer, listener);
  return info;
}

}  // namespace

void SessionKeys::add_partner(NodeId member, const PairSecret& secret) {
  members_[member].secret = secret;
}

bool SessionKeys::begin_epoch(const KeyEpoch& epoch, const PrivateKey& key) {
  const auto shown = exchange_key_of(key);
  if (!shown) return false;
  own_[1] = std::exchange(own_[0], OwnKey{epoch, key, *shown});
  ++generation_;
  for (auto& [id, member] : members_) {
    for (Partner& partner : member.partners) {
      for (auto& known : partner.keys) {
        if (!known) continue;
        known->pairs[1] = std::move(known->pairs[0]);
        known->pairs[0] = pair(id, member.secret, *own_[0], known->announced);
        ASSERT(known->pairs[0].has_value());  // as with the key before
      }
    }
  }
  return true;
}

std::optional<KeyAnnouncement> SessionKeys::own() const {
  if (!own_[0]) return std::nullopt;
  return KeyAnnouncement{own_[0]->epoch, sessions_, own_[0]->shown};
}

SessionKeys::Installed SessionKeys::install(NodeId id, const KeyAnnouncement& announcement) {
  const auto found = members_.find(id);
  if (found == members_.end()) return Installed::refused;
  Member& member = found->second;
  auto fresh = pair_with_own(id, member.secret, announcement);
  if (!fresh) return Installed::refused;
  Partner& partner = partner_for(member, announcement.sessions);
  if (const auto& newest = partner.keys[0]) {
    const KeyEpoch& known = newest->announced.epoch;
    const bool same_run = known.incarnation == announcement.epoch.incarnation;
    if (same_run && announcement.epoch.number == known.number) return Installed::known;
    if (same_run && announcement.epoch.number < known.number) return Installed::refused;
    // What an ended run has said must convince nobody any more.
    if (same_run) {
      partner.keys[1] = std::move(partner.keys[0]);
    } else {
      partner.keys[1].reset();
      partner.confirmed = 0;
    }
  }
  partner.keys[0] = std::move(fresh);
  ++generation_;
  return Installed::fresh;
}

bool SessionKeys::is_newest(NodeId id, const KeyAnnouncement& announcement) const {
  const auto member = members_.find(id);
  if (member == members_.end()) return false;
  const std::vector<Partner>& partners = member->second.partners;
  return std::any_of(partners.begin(), partners.end(), [&](const Partner& partner) {
    return partner.keys[0] && partner.keys[0]->announced == announcement;
  });
}

// Ranges that overlap are of an earlier start with other settings.
SessionKeys::Partner& SessionKeys::partner_for(Member& member, const SessionRange& sessions) {
  std::vector<Partner>& partners = member.partners;
  std::erase_if(partners, [&](const Partner& partner) {
    const bool overlaps =
        partner.sessions.has(sessions.first) || sessions.has(partner.sessions.first);
    return overlaps && partner.sessions != sessions;
  });
  const auto known = std::find_if(partners.begin(), partners.end(), [&](const Partner& partner) {
    return partner.sessions == sessions;
  });
  if (known != partners.end()) return *known;
  if (partners.size() == kPartnersMax) partners.erase(partners.begin());
  partners.emplace_back().sessions = sessions;
  return partners.back();
}

std::optional<PairKeys> SessionKeys::pair(NodeId member, const PairSecret& secret,
                                          const OwnKey& own, const KeyAnnouncement& partner) const {
  const auto shared = shared_secret(own.secret, partner.key);
  if (!shared) return std::nullopt;
  std::array<std::uint8_t, 64> both{};
  std::copy(shared->bytes.begin(), shared->bytes.end(), both.begin());
  std::copy(secret.bytes.begin(), secret.bytes.end(), both.begin() + 32);
  const End here{self_, own.epoch, own.shown};
  const End there{member, partner.epoch, partner.key};
  const std::uint32_t first = is_client(self_) ? sessions_.first : partner.sessions.first;
  const auto send = derive_mac(both, group_id_, info_of(group_id_, first, here, there));
  const auto receive = derive_mac(both, group_id_, info_of(group_id_, first, there, here));
  OPENSSL_cleanse(both.data(), both.size());
  if (!send || !receive) return std::nullopt;
  return PairKeys(*send, *receive);
}

std::optional<SessionKeys::PartnerKey> SessionKeys::pair_with_own(
    NodeId member, const PairSecret& secret, const KeyAnnouncement& announcement) const {
  PartnerKey key{announcement, {}};
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (!own_[i]) continue;
    key.pairs[i] = pair(member, secret, *own_[i], announcement);
    if (!key.pairs[i]) return std::nullopt;
  }
  return key.pairs[0] ? std::optional(std::move(key)) : std::nullopt;
}

const SessionKeys::Partner* SessionKeys::find(NodeId id, std::uint32_t session) const {
  const auto member = members_.find(id);
  if (member == members_.end()) return nullptr;
  const auto& partners = member->second.partners;
  if (!is_client(id)) return partners.empty() ? nullptr : &partners.front();
  const auto found = std::find_if(partners.begin(), partners.end(), [&](const Partner& partner) {
    return partner.sessions.has(session);
  });
  return found == partners.end() ? nullptr : &*found;
}

bool SessionKeys::has_key(NodeId member, std::uint32_t session) const {
  return find(member, session) != nullptr;
}

Tag SessionKeys::tag(NodeId to, std::uint32_t session, const Sha256::Digest& content) const {
  const Partner* partner = find(to, session);
  if (partner == nullptr) return {};
  const PartnerKey& key = *partner->keys[0];
  const bool before = own_[1] && partner->confirmed == own_[1]->epoch.number && key.pairs[1];
  return tag_under(before ? key.pairs[1]->send : key.pairs[0]->send, content);
}

bool SessionKeys::verify(NodeId from, std::uint32_t session, const Sha256::Digest& content,
                         ByteView tag) const {
  const Partner* partner = find(from, session);
  if (partner == nullptr) return false;
  for (const auto& key : partner->keys) {
    if (!key) continue;
    for (std::size_t own = 0; own < key->pairs.size(); ++own) {
      if (!key->pairs[own]) continue;
      if (!equal_in_constant_time(tag_under(key->pairs[own]->receive, content), tag)) continue;
      confirm(*partner, own);
      return true;
    }
  }
  return false;
}

void SessionKeys::confirm(const Partner& partner, std::size_t own) const {
  ASSERT(own_[own].has_value());
  const std::uint32_t number = own_[own]->epoch.number;
  if (number <= partner.confirmed) return;
  partner.confirmed = number;
  ++generation_;
}

}  // namespace prophecy::pbft

#include "sketcher/members/member_links.hpp"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

namespace prophecy::sketcher {

MemberLinks::MemberLinks(boost::asio::io_context& loop, transport::TlsClient& tls,
                         const SharedState& shared, std::uint32_t worker,
                         const http::MessageLimits& answer_limits, const MemberTimes& times)
    : loop_(loop),
      permissions_(shared.ring().permissions),
      members_(shared.ring().members),
      counters_(shared.members(worker)),
      times_(times),
      connect_timeouts_(times.connect),
      answer_timeouts_(times.answer),
      resources_{.tls = tls,
                 .readiness = transport::ReadinessLoop::of(loop),
                 .connect_timeouts = connect_timeouts_,
                 .answer_limits = answer_limits},
      peers_(MemberDirectory::kSlots) {}

MemberLinks::~MemberLinks() = default;

MemberLinks::Peer* MemberLinks::find(dht::MemberSlot slot) {
  if (slot >= peers_.size()) return nullptr;
  Peer& peer = peers_[slot];
  // First: what is read is at least of this version.
  const std::uint64_t version = members_.version(slot);
  if (version != peer.version) {
    auto entry = members_.find(slot);
    for (auto& link : peer.links)
      if (link) retire(std::move(link));
    peer.links.clear();
    peer.entry = entry ? std::move(*entry) : MemberEntry{};
    peer.links.resize(peer.entry.addresses.size());
    peer.version = version;
  }
  return peer.links.empty() ? nullptr : &peer;
}

bool MemberLinks::call(dht::MemberSlot slot, MemberCall& call) {
  Peer* peer = find(slot);
  if (peer == nullptr) return false;
  const std::size_t at = peer->next++ % peer->links.size();
  std::unique_ptr<MemberLink>& link = peer->links[at];
  if (link && !link->takes_calls()) retire(std::exchange(link, nullptr));
  if (!link) {
    MemberLinkOwner& owner = *this;
    link = std::make_unique<MemberLink>(resources_, owner, counters_[slot], peer->entry.name,
                                        peer->entry.addresses[at]);
    // It may have failed already, and tells so in a turn of its own.
    if (!link->takes_calls()) return false;
  }
  link->add(call);
  return true;
}

std::size_t MemberLinks::links_to(dht::MemberSlot slot) const {
  return slot < peers_.size() ? peers_[slot].links.size() : 0;
}

void MemberLinks::retire(std::unique_ptr<MemberLink> link) {
  retired_.push_back(std::move(link));
  retired_.back()->retire();
}

void MemberLinks::on_link_closed(MemberLink& link) {
  if (closed_.empty()) boost::asio::post(loop_, [this] { closed_.clear(); });
  const auto take_from = [&](std::vector<std::unique_ptr<MemberLink>>& links) {
    const auto found = std::find_if(links.begin(), links.end(),
                                    [&](const auto& one) { return one.get() == &link; });
    if (found == links.end()) return;
    closed_.push_back(std::move(*found));
  };
  take_from(retired_);
  std::erase(retired_, nullptr);
  for (Peer& peer : peers_)
    take_from(peer.links);
}

}  // namespace prophecy::sketcher

#include "pbft/core/bodies/part_server.hpp"

#include <algorithm>

#include "pbft/wire/recovery.hpp"

namespace prophecy::pbft {
namespace {

// What one peer may fetch in each such time.
constexpr Duration kServingTime = milliseconds(50);
constexpr std::uint64_t kServedBytesMax = std::uint64_t{4} << 20;
// Each is a file to open, however small.
constexpr std::uint64_t kPartCostMin = 16 * 1024;
// Frames that are kept, by the same measure.
constexpr std::uint64_t kKeptCostMax = std::uint64_t{4} << 20;

std::uint64_t cost_of(const Frame& frame) {
  return std::max<std::uint64_t>(frame->size(), kPartCostMin);
}

}  // namespace

void PartServer::serve(NodeId peer, const std::vector<Digest>& digests, ReplicaActions& out) {
  std::deque<Digest>& waiting = peers_[peer].waiting;
  for (const Digest& digest : digests) {
    if (waiting.size() >= kWaitingMax) {
      context_.drop(DropReason::rate_limited);
      break;
    }
    // Asked for again because it takes long.
    if (std::find(waiting.begin(), waiting.end(), digest) != waiting.end()) continue;
    if (parts_.holds(digest)) waiting.push_back(digest);
  }
  serve_waiting(peer, out);
}

void PartServer::serve_waiting(NodeId to, ReplicaActions& out) {
  Peer& peer = peers_[to];
  if (context_.now - peer.since >= kServingTime) {
    peer.bytes = 0;
    peer.since = context_.now;
  }
  while (!peer.waiting.empty() && peer.bytes < kServedBytesMax) {
    Frame frame = frame_of(peer.waiting.front());
    peer.waiting.pop_front();
    if (frame == nullptr) continue;
    peer.bytes += cost_of(frame);
    ++context_.counters.parts_served;
    out.sends.push_back({to, 0, std::move(frame), true});
  }
}

Frame PartServer::frame_of(const Digest& part) {
  const auto known = std::find_if(served_.begin(), served_.end(),
                                  [&](const Served& served) { return served.part == part; });
  if (known != served_.end()) return known->frame;
  const auto bytes = parts_.read(part);
  if (!bytes) return nullptr;
  Frame frame = encode_part_message(*bytes, context_.keys);
  served_.push_back({part, frame});
  served_cost_ += cost_of(frame);
  while (served_cost_ > kKeptCostMax) {
    served_cost_ -= cost_of(served_.front().frame);
    served_.pop_front();
  }
  return frame;
}

void PartServer::on_tick(ReplicaActions& out) {
  for (NodeId to = 0; to < peers_.size(); ++to) {
    const Peer& peer = peers_[to];
    if (!peer.waiting.empty() && context_.now - peer.since >= kServingTime) serve_waiting(to, out);
  }
}

TimePoint PartServer::next_timer() const {
  TimePoint next = TimePoint::max();
  for (const Peer& peer : peers_) {
    if (!peer.waiting.empty()) next = std::min(next, peer.since + kServingTime);
  }
  return next;
}

}  // namespace prophecy::pbft

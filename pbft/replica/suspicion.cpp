#include "pbft/replica/suspicion.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace prophecy::pbft {
namespace {

std::uint64_t count_of(const DropCounters& dropped, std::initializer_list<DropReason> reasons) {
  std::uint64_t sum = 0;
  for (const DropReason reason : reasons)
    sum += dropped[static_cast<std::size_t>(reason)];
  return sum;
}

bool is_recent(TimePoint then, TimePoint now) {
  return then != TimePoint::min() && now - then <= kRemembered;
}

std::string seconds_text(Duration duration) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

std::vector<std::string> suspicions(const PeerStanding& peer, const ReplicaSettings& settings,
                                    TimePoint started_at, TimePoint now) {
  std::vector<std::string> reasons;
  const bool never_heard = peer.heard_at == TimePoint::min();
  const Duration silent = now - std::max(peer.heard_at, started_at);
  if (silent > kSilentHeartbeats * settings.heartbeat_interval) {
    reasons.push_back((never_heard ? "never heard, for " : "silent for ") + seconds_text(silent));
  }
  if (peer.behind > kBehindIntervals * settings.checkpoint_interval) {
    reasons.push_back(fmt::format("behind by {} batches", peer.behind));
  }
  if (is_recent(peer.contradicted_at, now)) {
    reasons.push_back(
        fmt::format("sent what no correct replica sends: {} messages",
                    count_of(peer.dropped, {DropReason::conflicting, DropReason::malformed})));
  }
  if (is_recent(peer.forged_at, now)) {
    reasons.push_back(fmt::format(
        "wrong MAC or signature in its name: {} messages",
        count_of(peer.dropped_in_its_name, {DropReason::bad_mac, DropReason::bad_signature})));
  }
  if (is_recent(peer.view_failed_at, now)) {
    reasons.push_back(fmt::format("given up as primary, last {} ago: {} views",
                                  seconds_text(now - peer.view_failed_at), peer.views_failed));
  }
  return reasons;
}

}  // namespace prophecy::pbft

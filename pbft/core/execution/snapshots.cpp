#include "pbft/core/execution/snapshots.hpp"

#include <algorithm>
#include <array>

namespace prophecy::pbft {
namespace {

// After a peer's last question; and so many beside those that are kept anyway.
constexpr Duration kFetchedFor = seconds(2);
constexpr std::size_t kFetchedMax = 4;

std::array<Digest, 3> roots_of(const CheckpointClaim& claim) {
  return {claim.order, claim.replies, claim.service};
}

}  // namespace

bool Snapshots::pin(const CheckpointClaim& claim) {
  const auto roots = roots_of(claim);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    if (roots[i] == Digest{} || parts_.pin(roots[i])) continue;
    while (i-- > 0) {
      if (roots[i] != Digest{}) parts_.unpin(roots[i]);
    }
    return false;
  }
  return true;
}

bool Snapshots::add(const CheckpointClaim& claim) {
  if (!pin(claim)) return false;
  const auto place = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.claim.sequence >= claim.sequence;
  });
  if (place != entries_.end() && place->claim.sequence == claim.sequence) {
    unpin(place->claim);
    *place = {claim, place->touched, false};
  } else {
    entries_.insert(place, {claim, TimePoint::min(), false});
  }
  return true;
}

const CheckpointClaim* Snapshots::find(std::uint64_t sequence) const {
  const CheckpointClaim* found = newest_up_to(sequence);
  return found != nullptr && found->sequence == sequence ? found : nullptr;
}

const CheckpointClaim* Snapshots::newest_up_to(std::uint64_t sequence) const {
  return newest_of(sequence, [](const Entry& entry) { return !entry.disowned; });
}

const CheckpointClaim* Snapshots::newest_whole_up_to(std::uint64_t sequence) const {
  return newest_of(sequence, [](const Entry& entry) {
    return entry.claim.service != Digest{} && !entry.disowned;
  });
}

template <class Suits>
const CheckpointClaim* Snapshots::newest_of(std::uint64_t sequence, Suits suits) const {
  const auto entry = std::find_if(entries_.rbegin(), entries_.rend(), [&](const Entry& candidate) {
    return candidate.claim.sequence <= sequence && suits(candidate);
  });
  return entry != entries_.rend() ? &entry->claim : nullptr;
}

void Snapshots::disown_from(std::uint64_t sequence) {
  for (Entry& entry : entries_) {
    if (entry.claim.sequence >= sequence) entry.disowned = true;
  }
}

void Snapshots::touch(std::uint64_t sequence, TimePoint now) {
  for (Entry& entry : entries_) {
    if (entry.claim.sequence == sequence) entry.touched = now;
  }
}

void Snapshots::trim(std::uint64_t stable, std::span<const std::uint64_t> kept, TimePoint now) {
  std::size_t fetched = 0;
  for (std::size_t i = entries_.size(); i-- > 0;) {
    const Entry& entry = entries_[i];
    const std::uint64_t sequence = entry.claim.sequence;
    const bool newest = i + 1 == entries_.size();
    const bool named = std::find(kept.begin(), kept.end(), sequence) != kept.end();
    if (sequence >= stable || newest || named) continue;
    const bool is_fetched = entry.touched != TimePoint::min() && now - entry.touched < kFetchedFor;
    if (is_fetched && ++fetched <= kFetchedMax) continue;
    unpin(entry.claim);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void Snapshots::forget_above(std::uint64_t sequence) {
  while (!entries_.empty() && entries_.back().claim.sequence > sequence) {
    unpin(entries_.back().claim);
    entries_.pop_back();
  }
}

void Snapshots::unpin(const CheckpointClaim& claim) {
  for (const Digest& root : roots_of(claim)) {
    if (root != Digest{}) parts_.unpin(root);
  }
}

}  // namespace prophecy::pbft

#include "pbft/core/views/standings.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "pbft/wire/frame_header.hpp"

namespace prophecy::pbft {
namespace {

bool is_forged(DropReason reason) {
  return reason == DropReason::bad_mac || reason == DropReason::bad_signature;
}

// A correct replica's proven messages are never dropped for these. (A batch with a wrong MAC in it
// may be its client's doing.)
bool breaks_protocol(DropReason reason) {
  return reason == DropReason::conflicting || reason == DropReason::malformed;
}

}  // namespace

Standings::Standings(const Context& context)
    : context_(context), standings_(context.quorum.replicas) {
  for (NodeId id = 0; id < standings_.size(); ++id)
    standings_[id].replica = id;
}

void Standings::on_frame_handled(ByteView frame, bool authentic, TimePoint now) {
  if (context_.relay) return on_relayed(frame, authentic, now);
  if (!authentic && !context_.last_drop) return;  // the usual end of a vote beyond a quorum
  const auto header = peek_header(frame);
  if (!header || header->sender >= standings_.size() || header->sender == context_.self) return;
  PeerStanding& peer = standings_[header->sender];
  if (authentic) peer.heard_at = now;
  if (!context_.last_drop) return;
  const DropReason reason = *context_.last_drop;
  DropCounters& counters = authentic ? peer.dropped : peer.dropped_in_its_name;
  ++counters[static_cast<std::size_t>(reason)];
  if (authentic && breaks_protocol(reason)) peer.contradicted_at = now;
  if (!authentic && is_forged(reason)) peer.forged_at = now;
}

// What a replica has sealed is its own as far as it goes: it was there, and sent this. For what the
// message says, its signer answers.
void Standings::on_relayed(ByteView frame, bool authentic, TimePoint now) {
  PeerStanding& relay = standings_[*context_.relay];
  relay.heard_at = now;
  const auto header = peek_header(frame);
  const bool is_known = authentic && header && header->sender < standings_.size();
  if (is_known && header->sender == context_.self) return;
  PeerStanding& peer = is_known ? standings_[header->sender] : relay;
  if (authentic) peer.heard_at = now;
  if (!context_.last_drop) return;
  ++peer.dropped[static_cast<std::size_t>(*context_.last_drop)];
  if (authentic && breaks_protocol(*context_.last_drop)) peer.contradicted_at = now;
}

void Standings::on_status(const StatusMessage& status) {
  PeerStanding& peer = standings_[status.replica];
  // An old message, late or repeated by somebody. (One that was restarted is soon in the view
  // again.)
  if (status.view < peer.view) return;
  peer.view = status.view;
  peer.last_ordered = status.last_ordered;
  peer.last_stable = status.last_stable;
  const std::uint64_t own = context_.progress.last_ordered;
  peer.behind = own > status.last_ordered ? own - status.last_ordered : 0;
}

void Standings::on_view_left(std::uint64_t view_before, TimePoint now) {
  const std::uint64_t view_changes = context_.counters.view_changes_started;
  if (std::exchange(view_changes_then_, view_changes) == view_changes) return;
  const NodeId failed = primary_of(view_before, context_.quorum.replicas);
  if (failed == context_.self) return;
  ++standings_[failed].views_failed;
  standings_[failed].view_failed_at = now;
}

std::uint64_t Standings::lag() const {
  std::array<std::uint64_t, kReplicasMax> ordered{};
  auto* end = ordered.begin();
  for (const PeerStanding& peer : standings_) {
    if (peer.replica != context_.self) *end++ = peer.last_ordered;
  }
  auto* const vouched = ordered.begin() + (context_.quorum.weak - 1);
  std::nth_element(ordered.begin(), vouched, end, std::greater<>());
  const std::uint64_t own = context_.progress.last_executed;
  return *vouched > own ? *vouched - own : 0;
}

void Standings::copy_to(std::vector<PeerStanding>& peers) const {
  const auto own = standings_.begin() + context_.self;
  peers.assign(standings_.begin(), own);
  peers.insert(peers.end(), own + 1, standings_.end());
}

}  // namespace prophecy::pbft

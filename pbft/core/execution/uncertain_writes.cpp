#include "pbft/core/execution/uncertain_writes.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::pbft {
namespace {

// Of one replica. A later one is behind it in the order, and waits for it.
constexpr std::size_t kSaidMax = 16;
constexpr Duration kRepeatEvery = milliseconds(50);
// To one replica.
constexpr Duration kUncertainAnswerEvery = milliseconds(20);
// So long after it was given one, a replica is given no other checkpoint: longer each time, as each
// costs all replicas a snapshot.
constexpr Duration kCheckpointPause = seconds(2);
constexpr Duration kCheckpointPauseMax = minutes(2);

}  // namespace

UncertainWrites::UncertainWrites(Context& context, const Checkpoints& checkpoints)
    : context_(context), checkpoints_(checkpoints), peers_(context.quorum.replicas) {}

void UncertainWrites::keep(std::deque<UncertainWrite>& said, const UncertainWrite& write) {
  std::erase_if(said, [&](const UncertainWrite& other) { return other.sigma == write.sigma; });
  said.push_back(write);
  if (said.size() > kSaidMax) said.pop_front();
}

const UncertainWrite* UncertainWrites::find(const std::deque<UncertainWrite>& said, Sigma sigma) {
  const auto found = std::find_if(
      said.begin(), said.end(), [&](const UncertainWrite& write) { return write.sigma == sigma; });
  return found == said.end() ? nullptr : &*found;
}

void UncertainWrites::compare(const UncertainWrite& own, ReplicaActions& out) {
  forget_settled();
  keep(own_, own);
  is_comparing_ = true;
  repeat(out);
}

bool UncertainWrites::is_agreed() const {
  if (!is_comparing_ || own_.empty()) return false;
  const UncertainWrite& own = own_.back();
  if (own.state == Digest{}) return false;  // it could not be told
  const auto others = std::count_if(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    const UncertainWrite* write = find(peer.said, own.sigma);
    return write != nullptr && *write == own;
  });
  return 1 + others >= static_cast<std::ptrdiff_t>(context_.quorum.stable);
}

std::uint64_t UncertainWrites::awaited_checkpoint() const {
  std::uint64_t awaited = doubts_from_;
  for (const Peer& peer : peers_)
    awaited = std::max(awaited, peer.awaits);
  return awaited > checkpoints_.stable_sequence() ? awaited : 0;
}

bool UncertainWrites::on_uncertain(ByteView frame, ReplicaActions& out) {
  const auto message = decode_uncertain(frame, context_.quorum.replicas);
  if (!message) {
    context_.drop(DropReason::malformed);
    return false;
  }
  if (!context_.is_peer(message->replica)) return false;
  if (!context_.is_authentic(message->replica, message->content, message->authenticator)) {
    return false;
  }
  forget_settled();
  const std::uint64_t sequence = message->write.sigma >> 16;
  const std::uint64_t stable = checkpoints_.stable_sequence();
  if (sequence <= settled() || sequence > stable + context_.settings.window) {
    context_.drop(DropReason::outside_water_marks);
    return true;
  }
  Peer& peer = peers_[message->replica];
  keep(peer.said, message->write);
  if (message->wants_checkpoint) await_checkpoint(peer, sequence);
  const UncertainWrite* own = find(own_, message->write.sigma);
  const bool is_soon = peer.answered_at != TimePoint::min() &&
                       context_.now - peer.answered_at < kUncertainAnswerEvery;
  if (message->asks && own != nullptr && !is_soon) {
    peer.answered_at = context_.now;
    out.sends.push_back({message->replica, 0, encode_uncertain(*own, {}, context_.keys)});
  }
  return true;
}

// A write that left somebody in doubt has been proposed. Whoever names a later number gets no more
// for it than the next checkpoint.
void UncertainWrites::await_checkpoint(Peer& peer, std::uint64_t sequence) const {
  const Progress& progress = context_.progress;
  const std::uint64_t known =
      std::max({progress.last_proposed, progress.last_ordered, checkpoints_.stable_sequence() + 1});
  const std::uint64_t awaited = std::min(sequence, known);
  if (peer.awaits >= awaited) return;
  const bool is_first = peer.awaits_since == TimePoint::min();
  const Duration waited = is_first ? Duration::max() : context_.now - peer.awaits_since;
  if (waited < peer.pause) return;
  const bool is_long_ago = is_first || waited >= 2 * kCheckpointPauseMax;
  peer.pause = is_long_ago ? kCheckpointPause : std::min(2 * peer.pause, kCheckpointPauseMax);
  peer.awaits = awaited;
  peer.awaits_since = context_.now;
}

bool UncertainWrites::is_outstanding() const {
  return (is_comparing_ && !own_.empty()) || doubts_from_ > checkpoints_.stable_sequence();
}

void UncertainWrites::repeat(ReplicaActions& out) {
  repeated_at_ = context_.now;
  const bool doubts = doubts_from_ > checkpoints_.stable_sequence();
  const bool compares = is_comparing_ && !own_.empty();
  const UncertainWrite write = compares ? own_.back() : UncertainWrite{doubts_from_ << 16, {}, {}};
  context_.send_to_peers(
      encode_uncertain(write, {.asks = compares, .wants_checkpoint = doubts}, context_.keys), out);
}

void UncertainWrites::on_tick(ReplicaActions& out) {
  forget_settled();
  if (is_outstanding() && context_.now - repeated_at_ >= kRepeatEvery) repeat(out);
}

TimePoint UncertainWrites::next_timer() const {
  return is_outstanding() ? repeated_at_ + kRepeatEvery : TimePoint::max();
}

// A group that was switched off executes what is stable once more.
std::uint64_t UncertainWrites::settled() const {
  return std::min(checkpoints_.stable_sequence(), context_.progress.last_executed);
}

void UncertainWrites::forget_settled() {
  const auto forget = [&](std::deque<UncertainWrite>& said) {
    std::erase_if(said,
                  [&](const UncertainWrite& write) { return write.sigma >> 16 <= settled(); });
  };
  for (Peer& peer : peers_)
    forget(peer.said);
  forget(own_);
}

}  // namespace prophecy::pbft

#include "replica_client/core/health/group_health.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::replica_client {

namespace {

// Of a state that an origin is in of itself; 0: it is not out, or an operator took it out.
int badness(OriginState state) {
  switch (state) {
    case OriginState::ready:
    case OriginState::drain:
    case OriginState::maint:
      return 0;
    case OriginState::slow:
      return 1;
    case OriginState::quarantined:
      return 2;
    case OriginState::down:
      return 3;
  }
  UNREACHABLE();
}

}  // namespace

GroupHealth::GroupHealth(std::vector<std::uint32_t> weights, const HealthRules& rules,
                         TimePoint now)
    : faults_(rules.faults),
      slow_start_(rules.slow_start),
      weights_(std::move(weights)),
      origins_(weights_.size(), OriginHealth(rules, now)),
      started_(weights_.size()) {
  ASSERT(!weights_.empty() && weights_.size() <= kReplicasMax);
  drawable_min_ = std::clamp(rules.drawable_min, 1U, size());
  drawable_ = all_of(size());
  for (const std::uint32_t weight : weights_)
    ASSERT(weight >= 1 && weight <= kWeightMax);
}

void GroupHealth::on_check(NodeId replica, bool passed, std::string_view detail, TimePoint now) {
  ASSERT(replica < size());
  const OriginState before = origins_[replica].state();
  origins_[replica].on_check(passed, detail, now);
  follow(replica, before);
}

void GroupHealth::on_evidence(NodeId replica, const OriginEvidence& evidence, TimePoint now) {
  ASSERT(replica < size());
  const OriginState before = origins_[replica].state();
  const auto failing = common([](const OriginHealth& origin) { return origin.failure_share(); });
  origins_[replica].on_evidence(evidence, now, failing.value_or(0));
  follow(replica, before);
}

void GroupHealth::on_time(TimePoint now) {
  for (NodeId replica = 0; replica < size(); ++replica) {
    const OriginState before = origins_[replica].state();
    origins_[replica].on_time(now);
    follow(replica, before);
  }
  judge_slowness(now);
}

void GroupHealth::judge_slowness(TimePoint now) {
  const auto others = common([](const OriginHealth& origin) { return origin.slow_share(); });
  if (!others) return;
  for (NodeId replica = 0; replica < size(); ++replica) {
    const OriginState before = origins_[replica].state();
    origins_[replica].judge_slowness(*others, now);
    follow(replica, before);
  }
}

Result<> GroupHealth::set(NodeId replica, OriginChange change, TimePoint now) {
  ASSERT(replica < size());
  if (change.weight && (*change.weight < 1 || *change.weight > kWeightMax)) {
    return Error{ErrorKind::invalid, "expected a weight from 1 to " + std::to_string(kWeightMax) +
                                         "; an origin that is to get no fast reads is drained"};
  }
  if (change.within && change.administration != Administration::drain) {
    return Error{ErrorKind::invalid, "expected a time with drain alone"};
  }
  if (change.administration) {
    const bool stays = *change.administration == Administration::ready;
    std::uint32_t left = stays ? 1 : 0;
    for (NodeId other = 0; other < size(); ++other) {
      if (other != replica && origins_[other].administration() == Administration::ready) ++left;
    }
    if (!stays && left < drawable_min_) {
      return Error{ErrorKind::invalid, "at least " + std::to_string(drawable_min_) +
                                           " origins of the group have to stay; set another one " +
                                           "ready first"};
    }
  }
  if (change.weight) weights_[replica] = *change.weight;
  if (!change.administration) return {};
  const OriginState before = origins_[replica].state();
  origins_[replica].set(*change.administration, std::move(change.reason), now, change.within);
  follow(replica, before);
  return {};
}

OriginShares GroupHealth::shares(TimePoint now) const {
  OriginShares shares{};
  for (NodeId replica = 0; replica < size(); ++replica) {
    const auto& started = started_[replica];
    shares[replica] =
        share_of(weights_[replica], started ? now - *started : slow_start_, slow_start_);
  }
  return shares;
}

double GroupHealth::largest_share(const OriginShares& shares) const {
  std::vector<std::uint32_t> drawn;
  for (NodeId replica = 0; replica < size(); ++replica) {
    if ((drawable_ & bit_of(replica)) != 0) drawn.push_back(shares[replica]);
  }
  return replica_client::largest_share(drawn, faults_);
}

ReplicaSet GroupHealth::unchecked() const {
  ReplicaSet unchecked = 0;
  for (NodeId replica = 0; replica < size(); ++replica) {
    if (origins_[replica].administration() == Administration::maint) unchecked |= bit_of(replica);
  }
  return unchecked;
}

ReplicaSet GroupHealth::cut() const {
  ReplicaSet cut = 0;
  for (NodeId replica = 0; replica < size(); ++replica) {
    if (origins_[replica].is_cut()) cut |= bit_of(replica);
  }
  return cut;
}

std::vector<GroupHealth::Change> GroupHealth::take_changes() {
  return std::exchange(changes_, {});
}

void GroupHealth::follow(NodeId replica, OriginState before) {
  const OriginState after = origins_[replica].state();
  if (after == before) return;
  changes_.push_back({replica, before, after});
  choose();
}

void GroupHealth::choose() {
  const ReplicaSet before = std::exchange(drawable_, 0);
  kept_ = 0;
  std::vector<NodeId> out;  // of themselves, not by an operator
  for (NodeId replica = 0; replica < size(); ++replica) {
    const OriginHealth& origin = origins_[replica];
    if (origin.state() == OriginState::ready) {
      drawable_ |= bit_of(replica);
      if ((before & bit_of(replica)) == 0) started_[replica] = origin.since();
    }
    if (badness(origin.state()) > 0) out.push_back(replica);
  }
  std::stable_sort(out.begin(), out.end(), [&](NodeId a, NodeId b) {
    const OriginHealth& left = origins_[a];
    const OriginHealth& right = origins_[b];
    if (left.state() != right.state()) return badness(left.state()) < badness(right.state());
    return left.since() > right.since();
  });
  const auto ready = static_cast<std::size_t>(std::popcount(drawable_));
  const std::size_t missing = drawable_min_ > ready ? drawable_min_ - ready : 0;
  ASSERT(missing <= out.size());  // set() sees to it
  for (std::size_t i = 0; i < missing; ++i)
    kept_ |= bit_of(out[i]);
  drawable_ |= kept_;
  for (NodeId replica = 0; replica < size(); ++replica) {
    if ((drawable_ & ~kept_ & bit_of(replica)) == 0) started_[replica].reset();
  }
}

}  // namespace prophecy::replica_client

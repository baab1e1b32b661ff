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

GroupHealth::GroupHealth(std::uint32_t size, const HealthRules& rules, TimePoint now)
    : drawable_min_(std::clamp(rules.drawable_min, 1U, size)),
      faults_(rules.faults),
      origins_(size, OriginHealth(rules, now)),
      drawable_(all_of(size)) {
  ASSERT(size >= 1 && size <= kReplicasMax);
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

Result<> GroupHealth::set(NodeId replica, Administration administration, std::string reason,
                          TimePoint now) {
  ASSERT(replica < size());
  std::uint32_t left = administration == Administration::ready ? 1 : 0;
  for (NodeId other = 0; other < size(); ++other) {
    if (other != replica && origins_[other].administration() == Administration::ready) ++left;
  }
  if (administration != Administration::ready && left < drawable_min_) {
    return Error{ErrorKind::invalid, "at least " + std::to_string(drawable_min_) +
                                         " origins of the group have to stay; set another one " +
                                         "ready first"};
  }
  const OriginState before = origins_[replica].state();
  origins_[replica].set(administration, std::move(reason), now);
  follow(replica, before);
  return {};
}

ReplicaSet GroupHealth::unchecked() const {
  ReplicaSet unchecked = 0;
  for (NodeId replica = 0; replica < size(); ++replica) {
    if (origins_[replica].administration() == Administration::maint) unchecked |= bit_of(replica);
  }
  return unchecked;
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
  drawable_ = kept_ = 0;
  std::vector<NodeId> out;  // of themselves, not by an operator
  for (NodeId replica = 0; replica < size(); ++replica) {
    const OriginHealth& origin = origins_[replica];
    if (origin.state() == OriginState::ready) drawable_ |= bit_of(replica);
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
}

}  // namespace prophecy::replica_client

// The health of a whole group, and who may be drawn for a fast read: all that are ready, and never
// fewer than `drawable_min`. When too many are out, the least bad stay in: slow ones, whose
// answers are right, then those in quarantine, which answer at least, then those that went down
// last. (Fewer would help a faulty origin: the fewer are drawn, the more reads see its old
// answers.) What an operator took out stays out; that is why too many may not be taken out.
//
// An origin is drawn in proportion to its weight. One that comes back into the draw starts slowly
// (origin_weights.hpp), unless it is kept there, where it is needed.
//
// It says who is DRAWN. Nothing here takes a replica out of agreement.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "replica_client/core/health/origin_health.hpp"
#include "replica_client/core/health/origin_weights.hpp"

namespace prophecy::replica_client {

using ReplicaSet = std::uint64_t;  // one bit each
static_assert(kReplicasMax <= 64);
constexpr ReplicaSet bit_of(NodeId replica) {
  return ReplicaSet{1} << replica;
}
constexpr ReplicaSet all_of(std::uint32_t size) {
  return size == 64 ? ~ReplicaSet{0} : bit_of(size) - 1;
}

class GroupHealth {
 public:
  // Requires from 1 to kReplicasMax weights, by replica. A minimum beyond their number is that.
  GroupHealth(std::vector<std::uint32_t> weights, const HealthRules& rules, TimePoint now);

  // A replica beyond the size is a defect of the caller.
  void on_check(NodeId replica, bool passed, std::string_view detail, TimePoint now);
  void on_evidence(NodeId replica, const OriginEvidence& evidence, TimePoint now);
  void on_time(TimePoint now);
  // All that an operator sets about an origin comes this way. An error, which changes nothing, when
  // fewer than the minimum were left, or a weight is out of bounds.
  [[nodiscard]] Result<> set(NodeId replica, OriginChange change, TimePoint now);

  // Never empty.
  [[nodiscard]] ReplicaSet drawable() const { return drawable_; }
  // Those of them that would be out, if enough others were in.
  [[nodiscard]] ReplicaSet kept() const { return kept_; }
  // In maintenance: not to be checked.
  [[nodiscard]] ReplicaSet unchecked() const;
  // What is under way at these is cut.
  [[nodiscard]] ReplicaSet cut() const;
  [[nodiscard]] std::uint32_t weight(NodeId replica) const { return weights_[replica]; }
  // In what proportion origins are drawn, of all: also of those that are out of the draw.
  [[nodiscard]] OriginShares shares(TimePoint now) const;
  // g of the staleness bound: the share of the draws that f origins get at most, by shares().
  [[nodiscard]] double largest_share(const OriginShares& shares) const;
  [[nodiscard]] const OriginHealth& origin(NodeId replica) const { return origins_[replica]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(origins_.size()); }

  struct Change {
    NodeId replica = 0;
    OriginState from{};
    OriginState to{};
  };
  // Since they were taken last, in order.
  [[nodiscard]] std::vector<Change> take_changes();

 private:
  // Notes what has become of a replica that was in this state.
  void follow(NodeId replica, OriginState before);
  void choose();
  // The (f+1)-th smallest of the origins' shares; nothing when fewer are known.
  template <class Share>
  [[nodiscard]] std::optional<double> common(const Share& share) const {
    std::vector<double> shares;
    for (const OriginHealth& origin : origins_) {
      if (const auto known = share(origin)) shares.push_back(*known);
    }
    if (shares.size() <= faults_) return std::nullopt;
    const auto found = shares.begin() + faults_;
    std::nth_element(shares.begin(), found, shares.end());
    return *found;
  }
  // Takes those out that are much slower than others.
  void judge_slowness(TimePoint now);

  std::uint32_t drawable_min_;
  std::uint32_t faults_;
  Duration slow_start_;
  std::vector<std::uint32_t> weights_;
  std::vector<OriginHealth> origins_;
  std::vector<std::optional<TimePoint>> started_;  // slowly, when they came back
  ReplicaSet drawable_;
  ReplicaSet kept_ = 0;
  std::vector<Change> changes_;
};

}  // namespace prophecy::replica_client

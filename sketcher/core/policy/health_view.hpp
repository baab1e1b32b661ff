// What workers and the checker see of a group's health, in shared memory, written by the master
// alone and read without a lock. Before the master has said anything, all may be drawn, and
// uniformly.
#pragma once

#include <array>
#include <atomic>

#include "replica_client/core/health/draw.hpp"
#include "replica_client/core/health/group_health.hpp"

namespace prophecy::sketcher {

// In cache lines of its own: what is beside it is written with every replicated request.
class alignas(64) HealthView {
 public:
  using ReplicaSet = replica_client::ReplicaSet;
  using OriginShares = replica_client::OriginShares;

  [[nodiscard]] ReplicaSet drawable() const { return drawable_.load(std::memory_order_relaxed); }
  // In maintenance.
  [[nodiscard]] ReplicaSet unchecked() const { return unchecked_.load(std::memory_order_relaxed); }
  // Their drain is over: what is under way there is cut.
  [[nodiscard]] ReplicaSet cut() const { return cut_.load(std::memory_order_relaxed); }
  void publish(ReplicaSet drawable, ReplicaSet unchecked, ReplicaSet cut = 0) {
    cut_.store(cut, std::memory_order_relaxed);
    drawable_.store(drawable, std::memory_order_relaxed);
    unchecked_.store(unchecked, std::memory_order_relaxed);
  }
  // Of `size` origins; each has a share.
  void publish_shares(const OriginShares& shares, std::uint32_t size) {
    bool is_uniform = true;
    for (std::uint32_t i = 0; i < size; ++i) {
      is_uniform = is_uniform && shares[i] == shares[0];
      shares_[i].store(shares[i], std::memory_order_relaxed);
    }
    // Behind them: who sees this sees shares that are no longer 0.
    is_weighted_.store(!is_uniform, std::memory_order_release);
  }

  // Draws from a set that is not empty, of the group's origins. `below(n)` is uniform in [0, n).
  template <class Below>
  [[nodiscard]] NodeId draw(ReplicaSet from, Below below) const {
    if (!is_weighted_.load(std::memory_order_acquire)) return replica_client::draw(from, below);
    // Each is read once: the master may change them meanwhile.
    OriginShares shares;
    for (ReplicaSet rest = from; rest != 0; rest &= rest - 1) {
      const auto replica = static_cast<std::size_t>(std::countr_zero(rest));
      shares[replica] = shares_[replica].load(std::memory_order_relaxed);
    }
    return replica_client::draw(from, shares, below);
  }

 private:
  std::atomic<ReplicaSet> drawable_{~ReplicaSet{0}};
  std::atomic<ReplicaSet> unchecked_{0};
  std::atomic<ReplicaSet> cut_{0};
  std::atomic<bool> is_weighted_{false};
  std::array<std::atomic<std::uint32_t>, kReplicasMax> shares_{};
};

}  // namespace prophecy::sketcher

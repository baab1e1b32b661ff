// What workers and the checker see of a group's health, in shared memory: one word each, written by
// the master alone and read without a lock. Before the master has said anything, all may be drawn.
#pragma once

#include <atomic>

#include "replica_client/core/health/group_health.hpp"

namespace prophecy::sketcher {

// In a cache line of its own: what is beside it is written with every replicated request.
class alignas(64) HealthView {
 public:
  using ReplicaSet = replica_client::ReplicaSet;

  [[nodiscard]] ReplicaSet drawable() const { return drawable_.load(std::memory_order_relaxed); }
  // In maintenance.
  [[nodiscard]] ReplicaSet unchecked() const { return unchecked_.load(std::memory_order_relaxed); }
  void publish(ReplicaSet drawable, ReplicaSet unchecked) {
    drawable_.store(drawable, std::memory_order_relaxed);
    unchecked_.store(unchecked, std::memory_order_relaxed);
  }

 private:
  std::atomic<ReplicaSet> drawable_{~ReplicaSet{0}};
  std::atomic<ReplicaSet> unchecked_{0};
};

}  // namespace prophecy::sketcher

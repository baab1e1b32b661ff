// The last answers of each replica that the group has refuted, by their sketches: should the group
// come to agree on one, the replica was early with it, not wrong. Content changes so when an
// operator brings the origins up to date one after another. Each replica has room of its own, so
// that one that makes up answers pushes out nobody else's.
//
// Deterministic; not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.hpp"
#include "history_table/history_entry.hpp"
#include "replica_client/core/health/group_health.hpp"

namespace prophecy::sketcher {

class RefutedAnswers {
 public:
  static constexpr std::size_t kKept = 32;  // of each replica

  explicit RefutedAnswers(std::uint32_t replicas) : kept_(replicas) {}

  void add(const Sketch& key, const Sketch& answer, NodeId replica) {
    ASSERT(replica < kept_.size());
    Ring& ring = kept_[replica];
    const Refuted refuted{key, answer};
    if (std::find(ring.last.begin(), ring.last.end(), refuted) != ring.last.end()) return;
    Refuted& oldest = ring.last[ring.next++ % kKept];
    if (oldest == Refuted{}) ++size_;
    oldest = refuted;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Those who gave this answer to this request; they are forgotten.
  [[nodiscard]] replica_client::ReplicaSet take(const Sketch& key, const Sketch& answer) {
    replica_client::ReplicaSet replicas = 0;
    const Refuted wanted{key, answer};
    for (NodeId replica = 0; replica < kept_.size(); ++replica) {
      auto& last = kept_[replica].last;
      const auto found = std::find(last.begin(), last.end(), wanted);
      if (found == last.end()) continue;
      replicas |= replica_client::bit_of(replica);
      *found = {};
      --size_;
    }
    return replicas;
  }

 private:
  struct Refuted {
    Sketch key{};  // all zeros: none, as no request has
    Sketch answer{};

    friend bool operator==(const Refuted&, const Refuted&) = default;
  };
  struct Ring {
    std::array<Refuted, kKept> last{};
    std::size_t next = 0;
  };

  std::vector<Ring> kept_;  // by replica
  std::size_t size_ = 0;    // answers, of all
};

}  // namespace prophecy::sketcher

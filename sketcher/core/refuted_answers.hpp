// The last answers of single replicas that the group has refuted, by their sketches: should the
// group come to agree on one, the replica was early with it, not wrong. Content changes so when an
// operator brings the origins up to date one after another.
//
// Deterministic; not thread-safe.
#pragma once

#include <array>

#include "history_table/history_entry.hpp"
#include "replica_client/core/health/group_health.hpp"

namespace prophecy::sketcher {

class RefutedAnswers {
 public:
  static constexpr std::size_t kKept = 128;

  void add(const Sketch& key, const Sketch& answer, NodeId replica) {
    for (const Refuted& known : kept_) {
      if (known.key == key && known.answer == answer && known.replica == replica) return;
    }
    kept_[next_++ % kKept] = {key, answer, replica};
  }

  // Those who gave this answer to this request; they are forgotten.
  [[nodiscard]] replica_client::ReplicaSet take(const Sketch& key, const Sketch& answer) {
    replica_client::ReplicaSet replicas = 0;
    for (Refuted& known : kept_) {
      if (known.key != key || known.answer != answer) continue;
      replicas |= replica_client::bit_of(known.replica);
      known = {};
    }
    return replicas;
  }

 private:
  struct Refuted {
    Sketch key{};  // all zeros: none, as no request has
    Sketch answer{};
    NodeId replica = 0;
  };

  std::array<Refuted, kKept> kept_{};
  std::size_t next_ = 0;
};

}  // namespace prophecy::sketcher

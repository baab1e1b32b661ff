// The statements of distinct replicas about one thing, of which a quorum of equal ones is a
// certificate. A replica is counted once, with what it said first: whoever says something else
// later is faulty, and gains no second vote.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

class VoteSet {
 public:
  enum class Outcome : std::uint8_t { added, duplicate, conflicting };

  explicit VoteSet(std::uint32_t replicas) : votes_(replicas) {}

  Outcome record(NodeId replica, const Digest& digest) {
    ASSERT(replica < votes_.size());
    const std::uint64_t bit = std::uint64_t{1} << replica;
    if ((voted_ & bit) != 0) {
      return votes_[replica] == digest ? Outcome::duplicate : Outcome::conflicting;
    }
    voted_ |= bit;
    votes_[replica] = digest;
    return Outcome::added;
  }

  // The replica's new statement takes the place of its earlier one.
  void replace(NodeId replica, const Digest& digest) {
    forget(replica);
    record(replica, digest);
  }

  [[nodiscard]] std::uint32_t count(const Digest& digest) const {
    std::uint32_t equal = 0;
    for (std::uint64_t left = voted_; left != 0; left &= left - 1) {
      if (votes_[static_cast<std::size_t>(std::countr_zero(left))] == digest) ++equal;
    }
    return equal;
  }

  void clear() { voted_ = 0; }
  // It may vote again.
  void forget(NodeId replica) { voted_ &= ~(std::uint64_t{1} << replica); }

 private:
  std::vector<Digest> votes_;
  std::uint64_t voted_ = 0;
};

static_assert(kReplicasMax <= 64, "one bit a replica");

}  // namespace prophecy::pbft

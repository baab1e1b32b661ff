// `Placement` deals the partitions to members: each partition to the first member in its rendezvous
// order (Thaler and Ravishankar, 1998) that has room. A member's room is its share by weight, and
// a twentieth more.
//
// A pure function of names and weights, the same on every machine: integers alone, no floating
// point, whose logarithms differ between libraries. So members that know the same view agree on
// every owner. Without the cap, the busiest of 16 would own 1.11 times the mean; a ring of points
// takes a thousand points a member for that. tests/unit/dht/placement_test.cpp measures both how
// even it is and how little moves when members come and go.
//
// Names are the operators' choice. A URI's partition is what clients could aim at: its hash is
// keyed (WriteFloors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "history_table/partition.hpp"

namespace prophecy::dht {

// An index into the members that a placement was made of.
using MemberIndex = std::uint16_t;

class Placement {
 public:
  static constexpr std::uint32_t kWeightMax = 1000;

  struct Share {
    std::string_view name;       // unlike the others'
    std::uint32_t weight = 100;  // at most kWeightMax; 0: it gets nothing
  };

  // Requires a member at least whose weight is not 0.
  explicit Placement(std::span<const Share> members, std::size_t partitions = kPartitions);

  [[nodiscard]] MemberIndex owner(Partition partition) const { return owners_[partition]; }
  [[nodiscard]] std::span<const MemberIndex> owners() const { return owners_; }

  // The most partitions that a member with that share of all weights gets.
  [[nodiscard]] static std::size_t room(std::size_t partitions, std::uint64_t weight,
                                        std::uint64_t weights);

 private:
  std::vector<MemberIndex> owners_;  // by partition
};

}  // namespace prophecy::dht

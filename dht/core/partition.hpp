// Partitions: the units in which the history is owned, moved and erased. A URI lies in one, with
// all its methods, schemes and variants, so that one member owns all that a write makes out of
// date.
#pragma once

#include <cstddef>
#include <cstdint>

namespace prophecy::dht {

using Partition = std::uint16_t;
constexpr std::size_t kPartitions = 4096;

// Of a URI, by the hash that its write floor has. It is keyed by the installation: clients cannot
// choose which URIs share a partition. The low bits, so that a floor belongs to one partition.
[[nodiscard]] constexpr Partition partition_of(std::uint64_t uri_hash) {
  static_assert((kPartitions & (kPartitions - 1)) == 0);
  return static_cast<Partition>(uri_hash & (kPartitions - 1));
}

}  // namespace prophecy::dht

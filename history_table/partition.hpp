// Partitions of the history. Every URI belongs to one of 4096, whatever the method, scheme or
// header fields of a request for it: all entries of a URI and its write floor are in one partition,
// which sketchers that share a history hand to one another as a whole (paper, section 5).
//
// The table holds no URIs. A key therefore begins with the number of its partition, and so does the
// tag that an entry keeps of it. The other 148 bits of the key are those of the sketch.
//
// Pure functions, for any thread.
#pragma once

#include <cstdint>

#include "history_table/key_place.hpp"
#include "sketch/sketch_value.hpp"

namespace prophecy {

using Partition = std::uint16_t;  // less than kPartitions
constexpr Partition kPartitions = 1 << table::kPartitionBits;

// The key s(q) of a request whose URI is in this partition.
[[nodiscard]] inline Sketch key_in(Partition partition, Sketch sketch) {
  static_assert(table::kPartitionBits == 12);
  sketch[0] = static_cast<std::uint8_t>(partition);
  sketch[1] = static_cast<std::uint8_t>((sketch[1] & 0xf0) | partition >> 8);
  return sketch;
}

[[nodiscard]] inline Partition partition_of(const table::Tag& tag) {
  return static_cast<Partition>(tag.fingerprint & (kPartitions - 1));
}

}  // namespace prophecy

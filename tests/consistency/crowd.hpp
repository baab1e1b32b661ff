// Other requests of the group, whose entries fill the history table of a simulated run: what
// clients ask for is evicted by them.
#pragma once

#include <functional>
#include <vector>

#include "history_table/history_table.hpp"

namespace prophecy::consistency {

class Crowd {
 public:
  // `seed` is the table's. Each of their answers is given its sigma as it is inserted.
  Crowd(HistoryTable& table, std::uint64_t seed, std::function<Sigma()> next_sigma);

  // More of them than the table has room for.
  void fill();
  // More where the entry of this key lies, until that is evicted. False if there is none, or it
  // stays: a mark does.
  [[nodiscard]] bool evict(const Sketch& key);

 private:
  [[nodiscard]] Sketch next_key();
  void insert(const Sketch& key);
  // As a lookup, but nobody has read it.
  [[nodiscard]] bool holds(const table::KeyPlace& place) const;

  HistoryTable& table_;
  // For as many buckets as the table has, and empty: says where keys lie.
  std::vector<table::WriterRecord> memory_;
  table::Region region_;
  std::function<Sigma()> next_sigma_;
  std::uint64_t requests_ = 0;
};

}  // namespace prophecy::consistency

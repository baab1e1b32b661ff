// `PartitionScan` goes through a history table for the partitions that change hands: it erases
// their entries, or lists where they lie. One round of the table serves all partitions that are
// wanted, some buckets at a time, so that the process which does it goes on with its other work.
//
// Entries are spread over all buckets whatever their partition (the table holds no URIs), so each
// partition costs a whole round. One that is asked for in the midst of a round ends where it began.
//
// Erasing misses no entry that was there when it was asked for, provided that nobody records any
// more in the partition: no entry moves meanwhile (HistoryTable::hold_still). A list may miss
// entries that are moved, evicted or being changed: that costs replicated reads.
//
// A process that is killed in the midst leaves entries whole or gone. Single-threaded; the table is
// attached to this process.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "history_table/history_table.hpp"

namespace prophecy {

class PartitionScan {
 public:
  using Set = std::bitset<kPartitions>;

  explicit PartitionScan(HistoryTable& table);
  ~PartitionScan();
  PartitionScan(const PartitionScan&) = delete;
  PartitionScan& operator=(const PartitionScan&) = delete;

  // Erases the answers of these partitions; `ticket` comes back through take_erased().
  void erase(const Set& partitions, std::uint64_t ticket);
  [[nodiscard]] std::optional<std::uint64_t> take_erased();

  // Lists a partition, unless it is listed already, or is being.
  void list(Partition partition);
  [[nodiscard]] bool is_listed(Partition partition) const;
  // Frees the list, and the time for it.
  void drop_list(Partition partition);
  // The entries of a listed partition from `cursor` on, until there are `wanted` of them or more.
  // Returns the next cursor; 0 at the end.
  [[nodiscard]] std::uint64_t read(Partition partition, std::uint64_t cursor, std::size_t wanted,
                                   std::vector<table::StoredEntry>& entries) const;

  [[nodiscard]] bool is_idle() const { return erasures_.empty() && !listing_.any(); }
  // Goes through so many buckets, unless it is idle sooner, or meets one that another writer holds
  // for long.
  void step(std::uint64_t buckets);

 private:
  struct Erasure {
    Set partitions;
    std::uint64_t ticket = 0;
    std::uint64_t end = 0;  // of visits
  };
  struct List {
    std::vector<std::uint64_t> buckets;  // that have entries of the partition
    std::uint64_t end = 0;               // of visits
  };
  struct Listing {
    Partition partition = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] bool visit(std::uint64_t bucket);
  void note_erasures();
  void finish_lists();
  void finish_erasures();

  HistoryTable& table_;
  std::uint64_t visits_ = 0;  // of buckets, one after the other, round and round
  std::deque<Erasure> erasures_;
  Set erased_;   // of all erasures
  Set listing_;  // of lists that are not complete
  std::map<Partition, List> lists_;
  std::deque<Listing> listings_;    // by their ends; of lists that were dropped as well
  std::deque<std::uint64_t> done_;  // tickets
};

}  // namespace prophecy

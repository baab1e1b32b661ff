// `RingHistory` is the history table as the hand-over of partitions needs it
// (dht/core/hand_over.hpp).
//
// Entries do not name their group. With several groups, a partition's floors are those of all
// groups together: a write in one makes URIs of another out of date that have the same floor.
//
// Marks stay where they are: operators set them for all members. An answer that no read can be
// compared with is not handed over, nor one that an import has made out of date.
//
// Single-threaded; the table is attached to this process.
#pragma once

#include "dht/core/hand_over.hpp"
#include "history_table/history_table.hpp"
#include "history_table/partition_scan.hpp"
#include "sketcher/ring/own_numbers.hpp"

namespace prophecy::sketcher {

class RingHistory final : public dht::HistoryStore {
 public:
  static constexpr std::size_t kEntriesPerPage = 256;  // and fewer than a bucket's more
  static constexpr std::size_t kFloorsPerPage = 512;

  // `own`: where members count for themselves; else null. It outlives this.
  RingHistory(HistoryTable& table, std::uint32_t groups, const OwnNumbers* own);

  // Erases the answers of these partitions, whose words have changed, and after which all workers
  // have passed a turn. `ticket`, which is not 0, comes back through take_cleared().
  void clear(const std::vector<Partition>& partitions, std::uint64_t ticket);
  [[nodiscard]] std::optional<std::uint64_t> take_cleared();

  // Looks for entries that are to be read or erased, in so many buckets.
  void step(std::uint64_t buckets);
  [[nodiscard]] bool is_idle() const { return scan_.is_idle() && given_.none(); }

  // ---- dht::HistoryStore

  [[nodiscard]] std::optional<dht::OrderNumber> own_newest() const override;
  [[nodiscard]] bool prepare(Partition partition) override;
  std::uint64_t read_floors(Partition partition, std::uint64_t cursor,
                            std::vector<dht::HandedFloor>& page) override;
  std::uint64_t read_entries(Partition partition, std::uint64_t cursor,
                             std::vector<dht::HandedEntry>& page) override;
  void raise_floor(Partition partition, const dht::HandedFloor& floor) override;
  Inserted insert(Partition partition, const dht::HandedEntry& entry,
                  dht::OrderNumber barrier) override;
  // In the background: what is left of it counts for nobody.
  void erase(Partition partition) override;

 private:
  static constexpr std::uint64_t kNoTicket = 0;

  // The newest write in any group there.
  [[nodiscard]] Sigma written_at(WriteFloors::Slot slot) const;
  // Each group has so many floors.
  [[nodiscard]] std::uint64_t words() const { return floors_.front().words().size(); }

  HistoryTable& table_;
  const OwnNumbers* own_;
  std::vector<WriteFloors> floors_;  // by group
  PartitionScan scan_;
  // These partitions have been handed over, and are erased together, once no others are being.
  PartitionScan::Set given_;
  bool is_erasing_given_ = false;
};

}  // namespace prophecy::sketcher

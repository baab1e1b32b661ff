// The history table: s(q) -> (s(r), sigma, b) in memory that all workers share (paper, 3.3.1).
//
// Memory is mapped before the workers are forked, from a file if it is to outlive them. Any number
// of processes read and write at once: readers never wait; writers of one bucket take turns. A
// process that is killed at any instruction, inside an update too, leaves its entry old, new or
// empty; nobody waits for it once the master has declared it dead, which empties the entry it was
// at and opens its buckets.
//
// An entry may disappear at any time (eviction, recovery): that costs a replicated request and
// never a wrong answer. What has disappeared is not replaced by something older: each bucket
// remembers the newest sigma it has forgotten, and takes no new entry below it.
//
// docs/history-table.md has the layout and the argument for every crash point.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "history_table/block_store.hpp"
#include "history_table/history_entry.hpp"
#include "history_table/kept_file.hpp"
#include "history_table/memory.hpp"
#include "history_table/partition.hpp"
#include "history_table/region.hpp"
#include "history_table/stored_entry.hpp"
#include "history_table/write_floors.hpp"

namespace prophecy {

// What becomes of a table that lies in a file, when it is opened.
struct HistoryTableOrigin {
  bool is_warm = false;     // it has a predecessor's entries
  std::string emptied_for;  // why it has not, though there was a file
};

// One object a process, made before the fork and inherited; not for several threads at once.
class HistoryTable {
 public:
  static constexpr std::size_t kBytesMin = std::size_t{1} << 16;
  // Of the table, for entries of limited room.
  static constexpr double kLimitedShare = 0.05;
  // Of what is kept with the entries.
  static constexpr std::size_t kCompanionBytes = 4096;
  // Of the smallest table, for the write floors of all groups.
  static constexpr std::size_t kFloorBytesMin = kBytesMin / 16;
  // Of what imports leave behind; as much as what follows is aligned to.
  static constexpr std::size_t kImportedBytes = 128;

  // Maps an empty table of at most `bytes`, shared with children forked later. `bucket_seed`
  // should be unpredictable to clients. Of its memory, each of `groups` has write floors.
  [[nodiscard]] static Result<HistoryTable> create(
      std::size_t bytes, std::uint64_t bucket_seed,
      std::size_t block_store_bytes = BlockStore::kBytesMin, double limited_share = kLimitedShare,
      std::uint32_t groups = 1);

  // The same in a file of that size, which is made, or taken with all entries if a table of the
  // same identity left it. (Lists of blocks are not kept.)
  [[nodiscard]] static Result<HistoryTable> open(const std::filesystem::path& path,
                                                 std::size_t bytes, const table::Identity& identity,
                                                 std::uint64_t bucket_seed,
                                                 std::size_t block_store_bytes,
                                                 double limited_share = kLimitedShare,
                                                 std::uint32_t groups = 1);

  // The master, once all other processes have ended and were declared dead: what the file holds can
  // be proved whole from now on. Without a file, nothing. Nothing else may be called then.
  [[nodiscard]] Result<> close();

  // How a table in a file began.
  [[nodiscard]] const HistoryTableOrigin& origin() const { return origin_; }
  // Memory for what must be kept or lost together with the entries; zero at first, at a cache line.
  [[nodiscard]] std::span<std::byte, kCompanionBytes> companion() const;
  // From the installation's secret, so that all its sketchers have the same slots for a URI. Comes
  // before floors(), and before any child; otherwise it is the table's own.
  void set_floor_seed(std::uint64_t seed) { floor_seed_ = seed; }
  // What writes to this group have made out of date. Kept with the entries likewise.
  [[nodiscard]] WriteFloors floors(std::uint32_t group) const;
  // For each group.
  [[nodiscard]] std::size_t floor_slots() const { return floor_slots_; }
  // How many of 1 were ever raised, on the average of the groups.
  [[nodiscard]] double floors_raised() const;
  // Where the entries of the last import begin and end: nothing up to the first counts for a read,
  // in any group; all behind the second was agreed on here. Kept likewise.
  struct Imported {
    Sigma behind = 0;
    Sigma last = 0;
  };
  [[nodiscard]] Imported imported() const;
  // Neither ever falls.
  void begin_import(const Imported& range);
  // The bytes that it has, and how many of them lie in huge pages.
  [[nodiscard]] std::size_t bytes() const { return memory_.size(); }
  [[nodiscard]] std::size_t huge_bytes() const { return memory_.huge_bytes(); }

  // Names the calling process's slot; each live process has its own. Comes before any change.
  // Requires that a process that died in this slot was declared dead.
  void attach(WriterSlot slot);

  // The master, after the process in `slot` has died (and was waited for), before another takes
  // its place. Needs no attach(). Repeating it is harmless.
  void declare_dead(WriterSlot slot);

  // Never waits. May miss an entry that is being changed, or was left by an undeclared death.
  [[nodiscard]] std::optional<HistoryEntry> lookup(const Sketch& key) const;

  // For whoever knows a key ahead: has the memory brought that a lookup of it begins with. Then,
  // when that is likely to be there, what the lookup ends with.
  void prefetch(const Sketch& key) const;
  void prefetch_entry(const Sketch& key) const;

  // Algorithm 1: sets (s(r), sigma) when there is no entry or sigma is newer, atomically. After
  // any outcome, no older answer will be taken for this key. Waits for a writer in the same
  // bucket; if that one has died, until the master has declared it. Requires 0 < sigma <=
  // kSigmaMax.
  UpdateOutcome update(const Sketch& key, const Sketch& answer, Sigma sigma, Room room = Room::any);

  // For answers without a place in an order, numbered by `sigma` as they come: `asked` is the
  // newest number when this one was asked for. If another answer has come since, either may be the
  // newer one: then the entry keeps none (all zero), for both may have been seen.
  UpdateOutcome update_unordered(const Sketch& key, const Sketch& answer, Sigma asked, Sigma sigma,
                                 Room room = Room::any);

  // For the master: waits for no dead writer, but answers busy. Sets or (Mark::none) removes an
  // operator's mark; setting drops the answer, removing leaves no entry.
  [[nodiscard]] ChangeOutcome set_mark(const Sketch& key, Mark mark);

  // Forgets the answer of `key`; a mark stays. As set_mark, answers busy rather than wait long.
  [[nodiscard]] ChangeOutcome erase(const Sketch& key);

  // ---- All entries, bucket by bucket, beside running writers; and those of another table.

  [[nodiscard]] std::uint64_t bucket_count() const { return region_.bucket_count(); }
  // Nothing if writers hold it for too long.
  [[nodiscard]] std::optional<table::BucketEntries> bucket_entries(std::uint64_t index) const;
  // As update(), waits for other writers. Requires a possible entry, and that its sigma is less
  // than that of any answer which is agreed from now on; docs/history-table.md has the argument.
  SeedOutcome seed(const table::StoredEntry& entry);

  // ---- Partitions that change hands (partition_scan.hpp).

  // Takes the entry into a gap below the barrier, in the order of sigmas of this table. Waits for
  // other writers. Requires a possible entry without a mark.
  HandedOutcome take_handed(const table::StoredEntry& entry, Sigma barrier);
  // Forgets the answers of these partitions in one bucket; marks stay.
  [[nodiscard]] ChangeOutcome erase_in_bucket(std::uint64_t index,
                                              const std::bitset<kPartitions>& partitions);
  // While it is set, no entry moves to its other bucket: who goes through all buckets then, one
  // after the other, meets each entry that was there at the beginning. One process at a time.
  void hold_still(bool is_still);

  [[nodiscard]] HistoryTableStats stats() const;

  // What the answers of large ones lead to.
  [[nodiscard]] BlockStore& blocks() { return blocks_; }
  [[nodiscard]] const BlockStore& blocks() const { return blocks_; }

 private:
  HistoryTable(table::Memory memory, std::size_t header_bytes, std::uint64_t bucket_seed,
               BlockStore blocks, double limited_share, std::uint32_t groups);
  [[nodiscard]] std::size_t floor_bytes() const;
  [[nodiscard]] WriteFloors::Word* imported_words() const;

  table::Memory memory_;
  // Of the companion; then come what imports leave behind, the write floors, the entries.
  std::byte* begin_;
  std::uint64_t floor_seed_;
  std::uint32_t groups_;
  std::size_t floor_slots_;  // of each group
  table::Region region_;
  BlockStore blocks_;
  std::optional<table::KeptFile> file_;
  HistoryTableOrigin origin_;
  std::optional<WriterSlot> writer_;
};

}  // namespace prophecy

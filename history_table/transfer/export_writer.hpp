// Writes an export, from its first byte to its last, at the beginning of an empty file.
#pragma once

#include "history_table/transfer/format.hpp"

namespace prophecy::table {

struct ExportTotals {
  std::uint64_t entries = 0;
  Sigma newest = 0;  // of all entries and floors
};

class ExportWriter {
 public:
  // `fd` stays the caller's, and open.
  ExportWriter(int fd, const TransferKey& key);

  [[nodiscard]] Result<> begin(const ExportHeader& header);
  [[nodiscard]] Result<> add(const StoredEntry& entry);
  // Those of the groups behind all entries, so that no entry is older than a floor that is missing.
  [[nodiscard]] Result<> add(const StoredFloor& floor);
  // Then it is whole, and on the disk.
  [[nodiscard]] Result<ExportTotals> finish();

 private:
  template <class Item>
  [[nodiscard]] Result<> add_item(BlockKind kind, const Item& item, Sigma sigma);
  // Of what is pending.
  [[nodiscard]] Result<> write_block();
  [[nodiscard]] Result<> write_signed(ByteView bytes);
  [[nodiscard]] Result<> write(ByteView bytes);

  int fd_;
  std::uint64_t written_ = 0;
  MacChain macs_;
  Bytes items_;
  Bytes block_;
  std::size_t pending_ = 0;  // items in items_, of this kind:
  BlockKind kind_ = BlockKind::entries;
  ExportTotals totals_;
};

}  // namespace prophecy::table

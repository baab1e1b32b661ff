// Reads an export block by block, and hands out nothing whose MAC it has not seen to be right. That
// all of it is whole is known at its end, so an import reads it twice; the second time, too, it
// takes no byte that somebody may have changed in between.
#pragma once

#include <optional>
#include <vector>

#include "history_table/transfer/export_writer.hpp"

namespace prophecy::table {

class ExportReader {
 public:
  // `fd` stays the caller's, and open.
  ExportReader(int fd, const TransferKey& key);

  // Comes first. An error unless it was made under the same key, and of the same identity.
  [[nodiscard]] Result<ExportHeader> begin(const Identity& expected);
  // False at the end, which totals() tells of. Otherwise entries() or floors() are the next ones,
  // until the next call.
  [[nodiscard]] Result<bool> next();
  [[nodiscard]] const std::vector<StoredEntry>& entries() const { return entries_; }
  [[nodiscard]] const std::vector<StoredFloor>& floors() const { return floors_; }
  // Of the last block, and of all before it.
  [[nodiscard]] const TransferMac& mac() const { return mac_; }
  // Requires that the end was reached.
  [[nodiscard]] const ExportTotals& totals() const { return *totals_; }

 private:
  // Of the next bytes: block_ becomes `size` of them; they and their MAC are right.
  [[nodiscard]] Result<> read_signed(std::size_t size, std::size_t known);
  [[nodiscard]] Result<> read(std::span<std::uint8_t> out);
  [[nodiscard]] Result<> take(const StoredEntry& entry);
  [[nodiscard]] Result<> take(const StoredFloor& floor);
  [[nodiscard]] Result<> take_end(ByteView item);

  int fd_;
  std::uint64_t read_ = 0;
  MacChain macs_;
  TransferMac mac_{};
  Bytes block_;
  ExportHeader header_;
  std::vector<StoredEntry> entries_;
  std::vector<StoredFloor> floors_;
  std::optional<StoredFloor> last_floor_;
  ExportTotals seen_;
  std::optional<ExportTotals> totals_;
};

}  // namespace prophecy::table

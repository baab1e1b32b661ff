#include "history_table/transfer/export_writer.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::table {

ExportWriter::ExportWriter(int fd, const TransferKey& key) : fd_(fd), macs_(key) {}

Result<> ExportWriter::begin(const ExportHeader& header) {
  return write_signed(encode_header(header));
}

Result<> ExportWriter::add(const StoredEntry& entry) {
  ASSERT(is_possible(entry));
  ++totals_.entries;
  return add_item(BlockKind::entries, entry, sigma_of(entry.state));
}

Result<> ExportWriter::add(const StoredFloor& floor) {
  return add_item(BlockKind::floors, floor, floor.sigma);
}

template <class Item>
Result<> ExportWriter::add_item(BlockKind kind, const Item& item, Sigma sigma) {
  if (pending_ == kBlockItemsMax || kind != kind_) {
    if (auto written = write_block(); !written) return written;
  }
  kind_ = kind;
  append(items_, item);
  ++pending_;
  totals_.newest = std::max(totals_.newest, sigma);
  return {};
}

Result<ExportTotals> ExportWriter::finish() {
  if (auto written = write_block(); !written) return written.error();
  Writer writer(items_);
  writer.integer(totals_.entries);
  writer.integer(totals_.newest);
  kind_ = BlockKind::end;
  pending_ = 1;
  if (auto written = write_block(); !written) return written.error();
  if (::fsync(fd_) != 0) return io_error("cannot write the export");
  return totals_;
}

Result<> ExportWriter::write_block() {
  if (pending_ == 0) return {};
  block_.clear();
  Writer writer(block_);
  writer.integer(static_cast<std::uint32_t>(kind_));
  writer.integer(static_cast<std::uint32_t>(pending_));
  writer.raw(items_);
  items_.clear();
  pending_ = 0;
  return write_signed(block_);
}

Result<> ExportWriter::write_signed(ByteView bytes) {
  const TransferMac mac = macs_.next(bytes);
  if (auto written = write(bytes); !written) return written;
  return write(mac);
}

Result<> ExportWriter::write(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(written_));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error("cannot write the export");
    written_ += static_cast<std::uint64_t>(size);
    bytes = bytes.subspan(static_cast<std::size_t>(size));
  }
  return {};
}

}  // namespace prophecy::table

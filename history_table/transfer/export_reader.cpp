#include "history_table/transfer/export_reader.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::table {
namespace {

Error refused(const std::string& why) {
  return {ErrorKind::invalid, "the export is refused: " + why};
}

Error damaged() {
  return refused("it is damaged, or was changed");
}

// 0: there is no such kind.
std::size_t size_of_item(BlockKind kind) {
  switch (kind) {
    case BlockKind::entries:
      return kEntryBytes;
    case BlockKind::floors:
      return kFloorBytes;
    case BlockKind::end:
      return kEndBytes;
  }
  return 0;
}

}  // namespace

ExportReader::ExportReader(int fd, const TransferKey& key) : fd_(fd), macs_(key) {}

Result<ExportHeader> ExportReader::begin(const Identity& expected) {
  block_.resize(kExportHeaderBytes);
  if (auto got = read(block_); !got) return got.error();
  Reader reader(block_);
  std::array<std::uint8_t, 16> magic{};
  reader.fixed(magic);
  if (magic != kExportMagic) return refused("it is none of a history");
  if (reader.integer<std::uint32_t>() != kExportFormat) return refused("another version's format");
  ExportHeader& header = header_;
  header.identity.digest = reader.integer<std::uint32_t>();
  reader.fixed(header.identity.key);
  reader.fixed(header.identity.groups);
  header.identity.ownership_epoch = reader.integer<std::uint64_t>();
  header.made_at = reader.integer<std::uint64_t>();
  header.identity.group_count = reader.integer<std::uint32_t>();
  header.floor_slots = reader.integer<std::uint32_t>();
  ASSERT(reader.complete());
  // Before its MAC, which then is another one too.
  if (header.identity.key != expected.key) return refused("another key_file");
  if (auto right = read_signed(kExportHeaderBytes, kExportHeaderBytes); !right) {
    return right.error();
  }
  if (header.identity.digest != expected.digest) return refused("another digest");
  if (header.identity.groups != expected.groups) return refused("other groups");
  if (header.identity.ownership_epoch != expected.ownership_epoch) {
    return refused("another ownership of keys");
  }
  if (header.identity.group_count != expected.group_count) return refused("other groups");
  static_assert(WriteFloors::kSlotsMax == std::size_t{1} << 31);  // what such a field may say
  if (!std::has_single_bit(header.floor_slots)) return damaged();
  return header;
}

Result<bool> ExportReader::next() {
  ASSERT(!totals_);
  entries_.clear();
  floors_.clear();
  block_.resize(kBlockHeadBytes);
  if (auto got = read(block_); !got) return got.error();
  Reader head(block_);
  const auto kind = static_cast<BlockKind>(head.integer<std::uint32_t>());
  const std::size_t count = head.integer<std::uint32_t>();
  const std::size_t item_bytes = size_of_item(kind);
  const std::size_t count_max = kind == BlockKind::end ? 1 : kBlockItemsMax;
  if (item_bytes == 0 || count == 0 || count > count_max) return damaged();
  if (auto right = read_signed(kBlockHeadBytes + count * item_bytes, kBlockHeadBytes); !right) {
    return right.error();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView item = ByteView(block_).subspan(kBlockHeadBytes + i * item_bytes, item_bytes);
    const auto taken = kind == BlockKind::entries  ? take(decode_entry(item))
                       : kind == BlockKind::floors ? take(decode_floor(item))
                                                   : take_end(item);
    if (!taken) return taken.error();
  }
  return kind != BlockKind::end;
}

Result<> ExportReader::read_signed(std::size_t size, std::size_t known) {
  block_.resize(size);
  if (auto got = read(std::span(block_).subspan(known)); !got) return got;
  if (auto got = read(mac_); !got) return got;
  return equal_in_constant_time(mac_, macs_.next(block_)) ? Result<>() : damaged();
}

Result<> ExportReader::read(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t size = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(read_));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return io_error("cannot read the export");
    if (size == 0)
      return refused(read_ < kExportHeaderBytes ? "it is none of a history" : "it is cut short");
    read_ += static_cast<std::uint64_t>(size);
    out = out.subspan(static_cast<std::size_t>(size));
  }
  return {};
}

Result<> ExportReader::take(const StoredEntry& entry) {
  if (!is_possible(entry)) return damaged();
  ++seen_.entries;
  seen_.newest = std::max(seen_.newest, sigma_of(entry.state));
  entries_.push_back(entry);
  return {};
}

// In their order, which bounds how many there are.
Result<> ExportReader::take(const StoredFloor& floor) {
  if (floor.group >= header_.identity.group_count || floor.slot >= header_.floor_slots ||
      floor.sigma == 0 || floor.sigma > kSigmaMax) {
    return damaged();
  }
  if (last_floor_ &&
      std::pair(floor.group, floor.slot) <= std::pair(last_floor_->group, last_floor_->slot)) {
    return damaged();
  }
  last_floor_ = floor;
  seen_.newest = std::max(seen_.newest, floor.sigma);
  floors_.push_back(floor);
  return {};
}

Result<> ExportReader::take_end(ByteView item) {
  Reader reader(item);
  const auto entries = reader.integer<std::uint64_t>();
  const auto newest = reader.integer<std::uint64_t>();
  if (entries != seen_.entries || newest != seen_.newest) return damaged();
  std::uint8_t beyond = 0;
  const ssize_t size = ::pread(fd_, &beyond, 1, static_cast<off_t>(read_));
  if (size < 0) return io_error("cannot read the export");
  if (size > 0) return refused("there is something behind its end");
  totals_ = seen_;
  return {};
}

}  // namespace prophecy::table

// How entries lie in an export: what one sketcher writes to seed another, of the same installation.
//
//   export = header block*                                 all integers little-endian
//   header = magic (16 bytes) format:u32 digest:u32 key (32) groups (32) ownership_epoch:u64
//            made_at:u64 group_count:u32 floor_slots:u32 MAC
//   block  = kind:u32 count:u32 item^count MAC
//            kind 1, entries: item = tag (10) s(r) (20) state:u64
//            kind 2, write floors that are not 0: item = group:u32 slot:u32 sigma:u64
//            kind 3, the end: item = entries:u64 newest:u64, once, and nothing behind it
//   MAC    = HMAC-SHA-256 of the MAC before it (none before the first) and of header or block,
//   under a
//            key that follows from the installation's secret
//
// So a file is believed only if it is in every byte, and as a whole, what a holder of the secret
// has written: an import decides what clients are served.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "history_table/kept_file.hpp"
#include "history_table/stored_entry.hpp"
#include "history_table/write_floors.hpp"

namespace prophecy::table {

using TransferKey = std::array<std::uint8_t, 32>;
using TransferMac = Sha256::Digest;

constexpr std::array<std::uint8_t, 16> kExportMagic{'P', 'r', 'o', 'p', 'h', 'e', 'c', 'y',
                                                    ' ', 'e', 'x', 'p', 'o', 'r', 't', '\n'};
constexpr std::uint32_t kExportFormat = 2;
constexpr std::size_t kExportHeaderBytes = 16 + 4 + 4 + 32 + 32 + 8 + 8 + 4 + 4;  // without its MAC
constexpr std::size_t kBlockHeadBytes = 8;
constexpr std::size_t kEntryBytes = 10 + 20 + 8;
constexpr std::size_t kFloorBytes = 16;
constexpr std::size_t kEndBytes = 16;
constexpr std::size_t kBlockItemsMax = 4096;

enum class BlockKind : std::uint32_t { entries = 1, floors = 2, end = 3 };

struct ExportHeader {
  Identity identity;              // with its group_count
  std::uint64_t made_at = 0;      // seconds since 1970
  std::uint32_t floor_slots = 0;  // of each group
};

// A word of a group's WriteFloors.
struct StoredFloor {
  std::uint32_t group = 0;
  WriteFloors::Slot slot = 0;
  Sigma sigma = 0;

  bool operator==(const StoredFloor&) const = default;
};

// The MACs of a file, one after the other.
class MacChain {
 public:
  explicit MacChain(const TransferKey& key) : keyed_(key) {}

  [[nodiscard]] TransferMac next(ByteView bytes) {
    Hmac<Sha256> mac = keyed_;
    if (has_previous_) mac.update(previous_);
    mac.update(bytes);
    has_previous_ = true;
    return previous_ = mac.finish();
  }

 private:
  Hmac<Sha256> keyed_;
  TransferMac previous_{};
  bool has_previous_ = false;
};

[[nodiscard]] Bytes encode_header(const ExportHeader& header);
void append(Bytes& out, const StoredEntry& entry);
void append(Bytes& out, const StoredFloor& floor);
// Requires kEntryBytes, kFloorBytes.
[[nodiscard]] StoredEntry decode_entry(ByteView bytes);
[[nodiscard]] StoredFloor decode_floor(ByteView bytes);

}  // namespace prophecy::table

// Marks by which a store notices that it has forgotten something. Each write of the store carries,
// as its last entry, a mark: random bytes of this store's own, and the number of the write. So the
// raw bytes of the files say which writes were once completed, whatever the database makes of
// them. A log's last record of which one byte of the length was changed looks to the database like
// one that a crash cut short, and is dropped without a word; its mark at the end is still there.
//
// A mark stands twice in its entry: the log cuts its entries where a block of 32 KiB ends, which
// splits at most one of two that lie side by side, and that one counts for nothing.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace prophecy::pbft {

using MarkSecret = std::array<std::uint8_t, 16>;

[[nodiscard]] Bytes encode_mark(const MarkSecret& secret, std::uint64_t write);
// Nothing when it is not a mark of this store.
[[nodiscard]] std::optional<std::uint64_t> decode_mark(const MarkSecret& secret, ByteView bytes);

// The newest write of which a mark lies in the logs and tables of the database in `folder`; 0 when
// there is none. ErrorKind::damaged when a write is missing between others.
[[nodiscard]] Result<std::uint64_t> newest_mark(const std::filesystem::path& folder,
                                                const MarkSecret& secret);

}  // namespace prophecy::pbft

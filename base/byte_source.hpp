// Bytes that are too many to be held in memory: a body that lies in a file, or in the parts of a
// store. They do not change while anybody has the source, and are read in pieces, as often as
// wanted.
//
// Reading may wait for the disk, for a piece of at most some hundred KiB. Single-threaded.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/digest.hpp"

namespace prophecy {

// Of the pieces in which sources are made, all but the last one of a source.
constexpr std::size_t kSourcePieceBytes = 128 * 1024;

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t size() const = 0;
  // Fills `into` from `offset` on. Requires that so many bytes are there. False: they cannot be had
  // any more, and what `into` holds is not to be used.
  [[nodiscard]] virtual bool read(std::uint64_t offset, std::span<char> into) const = 0;
  // Of its pieces, as leaves of a request by digest (pbft/wire/body.hpp), if they were hashed when
  // they came. Empty: they were not.
  [[nodiscard]] virtual std::span<const Sha256::Digest> leaf_digests() const { return {}; }
};

using ByteSourcePtr = std::shared_ptr<const ByteSource>;

}  // namespace prophecy

// The bytes of a body out of its leaves, which are read as they are wanted. Made to be read from
// the front to the end, more than once: to go back means to begin anew, since leaves have the sizes
// that their client chose. Holds one leaf.
//
// Single-threaded. Requires that somebody holds the body while it is read.
#pragma once

#include <vector>

#include "base/byte_source.hpp"
#include "pbft/core/part_store.hpp"

namespace prophecy::pbft {

class BodyReader final : public ByteSource {
 public:
  // Requires leaves that make so many bytes, in their order.
  BodyReader(const PartStore& parts, std::vector<Digest> leaves, std::uint64_t size)
      : parts_(parts), leaves_(std::move(leaves)), size_(size) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }
  // False when the store has lost what is wanted.
  [[nodiscard]] bool read(std::uint64_t offset, std::span<char> into) const override;

 private:
  [[nodiscard]] bool go_to(std::uint64_t offset) const;

  const PartStore& parts_;
  std::vector<Digest> leaves_;
  std::uint64_t size_;
  // The leaf that was read last.
  mutable std::size_t next_ = 0;  // the one behind it
  mutable std::uint64_t begin_ = 0;
  mutable Bytes leaf_;
};

}  // namespace prophecy::pbft

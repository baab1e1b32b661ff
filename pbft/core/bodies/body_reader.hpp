// The bytes of a body out of its leaves, which are read as they are wanted. Leaves have the sizes
// that their client chose: where one begins is known once those before it were read, and
// remembered. Holds two leaves, because who sends the bytes reads ahead: what a socket did not take
// of a piece is read again, and the piece may have ended in the next leaf.
//
// Single-threaded. Requires that somebody holds the body while it is read.
#pragma once

#include <array>
#include <vector>

#include "base/byte_source.hpp"
#include "pbft/core/state/part_store.hpp"

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
  struct Held {
    std::size_t index;
    Bytes bytes;
  };

  // The leaf that has the byte at `offset`, until the next call; null when it is lost.
  [[nodiscard]] const Held* leaf_at(std::uint64_t offset) const;
  [[nodiscard]] const Held* hold(std::size_t index) const;
  [[nodiscard]] std::uint64_t begin_of(std::size_t index) const {
    return index == 0 ? 0 : ends_[index - 1];
  }

  static constexpr std::size_t kNone = SIZE_MAX;

  const PartStore& parts_;
  std::vector<Digest> leaves_;
  std::uint64_t size_;
  mutable std::vector<std::uint64_t> ends_;  // of the first leaves, as far as they were read
  mutable std::array<Held, 2> held_{Held{kNone, {}}, Held{kNone, {}}};  // the one read last first
};

}  // namespace prophecy::pbft

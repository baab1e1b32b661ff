// The operation of a request that is ordered by digest: too large for a frame, it travels apart
// from its request, as a tree of parts (pbft/wire/part.hpp) of which the request names the root.
// The root names the leaves in their order and carries nothing itself; the leaves carry the bytes,
// and name nothing. How the bytes are divided is the client's choice, within bounds.
//
//   name := size u64, digest of the root 32
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "pbft/wire/limits.hpp"
#include "pbft/wire/messages.hpp"
#include "pbft/wire/part.hpp"

namespace prophecy::pbft {

// Bytes of the operation in one leaf.
constexpr std::size_t kBodyLeafBytesMax = 128 * 1024;

// Small bodies may be divided finely, large ones not: each leaf costs a file.
[[nodiscard]] constexpr std::size_t body_leaves_max(std::uint64_t size) {
  return 16 + size / (64 * 1024);
}
static_assert(body_leaves_max(kOperationBytesMax) <= kPartChildrenMax);
static_assert(body_leaves_max(kOperationBytesMax) * kBodyLeafBytesMax >= kOperationBytesMax);

[[nodiscard]] Bytes encode_body_name(const BodyName& name);
// Nothing for an empty body, or for one beyond kOperationBytesMax.
[[nodiscard]] std::optional<BodyName> decode_body_name(ByteView bytes);

// What may be a root of a body of this size: its leaves.
[[nodiscard]] std::optional<std::vector<Digest>> decode_body_root(ByteView part,
                                                                  std::uint64_t size);
// What may be a leaf: the bytes that it carries.
[[nodiscard]] std::optional<ByteView> decode_body_leaf(ByteView part);

// A client's side: the tree over bytes that it has. A leaf is made when it is asked for, so that
// the bytes exist once.
class BodyTree {
 public:
  // Requires 1 to kOperationBytesMax bytes, and leaves of 1 to kBodyLeafBytesMax; they may become
  // larger, if the body would have too many.
  BodyTree(std::shared_ptr<const Bytes> body, std::size_t leaf_bytes);

  [[nodiscard]] const BodyName& name() const { return name_; }
  // Nothing when it is none of this tree.
  [[nodiscard]] std::optional<Bytes> part(const Digest& digest) const;

 private:
  std::shared_ptr<const Bytes> body_;
  std::size_t leaf_bytes_;
  Bytes root_;
  std::map<Digest, std::size_t> leaves_;  // where each begins
  BodyName name_;
};

}  // namespace prophecy::pbft

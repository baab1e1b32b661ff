// The operation of a request that is ordered by digest: too large for a frame, it travels apart
// from its request, as a tree of parts (pbft/wire/part.hpp) of which the request names the root.
// The leaves carry the bytes, and name nothing; the root names them in their order and carries
// nothing itself. Where there may be more of them than a part can name, nodes stand between: the
// root names these, and they the leaves. How the bytes are divided is the client's choice, within
// bounds.
//
//   name := size u64, digest of the root 32
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/byte_source.hpp"
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
static_assert(body_leaves_max(kOperationBytesMax) * kBodyLeafBytesMax >= kOperationBytesMax);

// Whether the root of a body of this size names nodes.
[[nodiscard]] constexpr bool has_body_nodes(std::uint64_t size) {
  return body_leaves_max(size) > kPartChildrenMax;
}
// They need not be full.
[[nodiscard]] constexpr std::size_t body_nodes_max(std::uint64_t size) {
  return 1 + 2 * body_leaves_max(size) / kPartChildrenMax;
}
static_assert(body_nodes_max(kOperationBytesMax) <= kPartChildrenMax);

[[nodiscard]] Bytes encode_body_name(const BodyName& name);
// Nothing for an empty body, or for one beyond kOperationBytesMax.
[[nodiscard]] std::optional<BodyName> decode_body_name(ByteView bytes);

// What may be a root of a body of this size: its leaves, or its nodes.
[[nodiscard]] std::optional<std::vector<Digest>> decode_body_root(ByteView part,
                                                                  std::uint64_t size);
// What may be a node: its leaves.
[[nodiscard]] std::optional<std::vector<Digest>> decode_body_node(ByteView part);
// What may be a leaf: the bytes that it carries.
[[nodiscard]] std::optional<ByteView> decode_body_leaf(ByteView part);

// Of the encoded leaf, without making it.
[[nodiscard]] Digest digest_of_leaf(ByteView bytes);

// A client's side: the tree over bytes that it has, or can read. A leaf is made when it is asked
// for, so that the bytes exist once.
class BodyTree {
 public:
  // Requires 1 to kOperationBytesMax bytes, and leaves of 1 to kBodyLeafBytesMax; they may become
  // larger, if the body would have too many.
  BodyTree(std::shared_ptr<const Bytes> body, std::size_t leaf_bytes);
  // Of the front and the rest behind it, which is not read for that. Requires a rest with the
  // digests of its leaves, and at most a MiB in front.
  BodyTree(std::shared_ptr<const Bytes> front, ByteSourcePtr rest);

  [[nodiscard]] const BodyName& name() const { return name_; }
  // Nothing when it is none of this tree, or cannot be read any more.
  [[nodiscard]] std::optional<Bytes> part(const Digest& digest) const;

 private:
  struct Leaf {
    std::uint64_t begin = 0;
    std::size_t size = 0;
  };

  // The leaves of what lies in memory.
  [[nodiscard]] std::vector<Digest> divide(std::size_t leaf_bytes);
  void make_root(std::vector<Digest> leaves, std::uint64_t size);

  std::shared_ptr<const Bytes> front_;
  ByteSourcePtr rest_;             // null: nothing lies behind
  std::map<Digest, Bytes> upper_;  // the root and the nodes
  std::map<Digest, Leaf> leaves_;
  BodyName name_;
};

}  // namespace prophecy::pbft

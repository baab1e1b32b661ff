#include "pbft/wire/body.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {
Digest digest_of_leaf(ByteView bytes) {
  constexpr std::array<std::uint8_t, 2> kNoChildren{};
  Sha256 hash;
  hash.update(kNoChildren);
  hash.update(bytes);
  return hash.finish();
}

Bytes encode_body_name(const BodyName& name) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(name.size);
  writer.raw(name.root);
  return bytes;
}

std::optional<BodyName> decode_body_name(ByteView bytes) {
  Reader reader(bytes);
  BodyName name;
  name.size = reader.integer<std::uint64_t>();
  reader.fixed(name.root);
  if (!reader.complete() || name.size == 0 || name.size > kOperationBytesMax) return std::nullopt;
  return name;
}

std::optional<std::vector<Digest>> decode_body_root(ByteView bytes, std::uint64_t size) {
  auto children = decode_body_node(bytes);
  const std::size_t children_max =
      has_body_nodes(size) ? body_nodes_max(size) : body_leaves_max(size);
  if (!children || children->size() > children_max) return std::nullopt;
  return children;
}

std::optional<std::vector<Digest>> decode_body_node(ByteView bytes) {
  auto part = decode_part(bytes);
  if (!part || part->children.empty() || !part->payload.empty()) return std::nullopt;
  return std::move(part->children);
}

std::optional<ByteView> decode_body_leaf(ByteView bytes) {
  const auto part = decode_part(bytes);
  if (!part || !part->children.empty() || part->payload.empty() ||
      part->payload.size() > kBodyLeafBytesMax) {
    return std::nullopt;
  }
  return part->payload;
}

BodyTree::BodyTree(std::shared_ptr<const Bytes> body, std::size_t leaf_bytes)
    : front_(std::move(body)) {
  const std::size_t size = front_->size();
  ASSERT(size > 0 && size <= kOperationBytesMax);
  ASSERT(leaf_bytes > 0 && leaf_bytes <= kBodyLeafBytesMax);
  const std::size_t leaves_max = body_leaves_max(size);
  make_root(divide(std::max(leaf_bytes, (size + leaves_max - 1) / leaves_max)), size);
}

BodyTree::BodyTree(std::shared_ptr<const Bytes> front, ByteSourcePtr rest)
    : front_(std::move(front)), rest_(std::move(rest)) {
  constexpr std::size_t kFrontBytesMax = 1024 * 1024;
  const std::uint64_t size = front_->size() + rest_->size();
  ASSERT(front_->size() <= kFrontBytesMax && size <= kOperationBytesMax);
  std::vector<Digest> leaves = divide(kBodyLeafBytesMax);
  std::uint64_t begin = front_->size();
  for (const Digest& leaf : rest_->leaf_digests()) {
    const auto leaf_bytes = std::min<std::uint64_t>(kSourcePieceBytes, size - begin);
    leaves_.emplace(leaf, Leaf{begin, leaf_bytes});
    leaves.push_back(leaf);
    begin += leaf_bytes;
  }
  ASSERT(begin == size && leaves.size() <= body_leaves_max(size));
  make_root(std::move(leaves), size);
}

std::vector<Digest> BodyTree::divide(std::size_t leaf_bytes) {
  std::vector<Digest> leaves;
  for (std::size_t at = 0; at < front_->size(); at += leaf_bytes) {
    const std::size_t size = std::min(leaf_bytes, front_->size() - at);
    leaves.push_back(digest_of_leaf(ByteView(*front_).subspan(at, size)));
    leaves_.emplace(leaves.back(), Leaf{at, size});
  }
  return leaves;
}

void BodyTree::make_root(std::vector<Digest> leaves, std::uint64_t size) {
  const auto add_upper = [this](std::span<const Digest> children) {
    Bytes part = encode_part(children, {});
    const Digest digest = sha256(part);
    upper_.emplace(digest, std::move(part));
    return digest;
  };
  std::vector<Digest> nodes;
  const std::span<const Digest> all(leaves);
  if (has_body_nodes(size)) {
    for (std::size_t at = 0; at < all.size(); at += kPartChildrenMax)
      nodes.push_back(add_upper(all.subspan(at, std::min(kPartChildrenMax, all.size() - at))));
  }
  name_ = {size, add_upper(nodes.empty() ? all : nodes)};
}

std::optional<Bytes> BodyTree::part(const Digest& digest) const {
  if (const auto upper = upper_.find(digest); upper != upper_.end()) return upper->second;
  const auto found = leaves_.find(digest);
  if (found == leaves_.end()) return std::nullopt;
  const Leaf& leaf = found->second;
  if (leaf.begin < front_->size())
    return encode_part({}, ByteView(*front_).subspan(leaf.begin, leaf.size));
  std::string bytes(leaf.size, '\0');
  if (!rest_->read(leaf.begin - front_->size(), bytes)) return std::nullopt;
  return encode_part({}, as_bytes(bytes));
}

}  // namespace prophecy::pbft

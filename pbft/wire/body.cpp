#include "pbft/wire/body.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {
namespace {

// Of the encoded leaf, without making it.
Digest digest_of_leaf(ByteView bytes) {
  constexpr std::array<std::uint8_t, 2> kNoChildren{};
  Sha256 hash;
  hash.update(kNoChildren);
  hash.update(bytes);
  return hash.finish();
}

}  // namespace

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
  auto part = decode_part(bytes);
  if (!part || part->children.empty() || part->children.size() > body_leaves_max(size) ||
      !part->payload.empty()) {
    return std::nullopt;
  }
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
    : body_(std::move(body)) {
  const std::size_t size = body_->size();
  ASSERT(size > 0 && size <= kOperationBytesMax);
  ASSERT(leaf_bytes > 0 && leaf_bytes <= kBodyLeafBytesMax);
  const std::size_t leaves_max = body_leaves_max(size);
  leaf_bytes_ = std::max(leaf_bytes, (size + leaves_max - 1) / leaves_max);
  std::vector<Digest> children;
  for (std::size_t at = 0; at < size; at += leaf_bytes_) {
    const ByteView leaf = ByteView(*body_).subspan(at, std::min(leaf_bytes_, size - at));
    leaves_.emplace(children.emplace_back(digest_of_leaf(leaf)), at);
  }
  root_ = encode_part(children, {});
  name_ = {size, sha256(root_)};
}

std::optional<Bytes> BodyTree::part(const Digest& digest) const {
  if (digest == name_.root) return root_;
  const auto leaf = leaves_.find(digest);
  if (leaf == leaves_.end()) return std::nullopt;
  const std::size_t size = std::min(leaf_bytes_, body_->size() - leaf->second);
  return encode_part({}, ByteView(*body_).subspan(leaf->second, size));
}

}  // namespace prophecy::pbft

#include "pbft/core/state/content_shelf.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::size_t kLeafBytes = 128 * 1024;
static_assert(kLeafBytes * kPartChildrenMax >= kFrameBytesMax);

}  // namespace

std::optional<Digest> ContentShelf::put(const Bytes& content) {
  std::vector<Digest> kept;
  std::vector<Digest> added;
  const auto keep = [&](const std::vector<Digest>& children, ByteView payload) {
    const Bytes part = encode_part(children, payload);
    const Digest digest = sha256(part);
    const bool is_new = !parts_.holds(digest);
    if (!parts_.keep_written(digest, part)) return false;
    kept.push_back(digest);
    if (is_new) added.push_back(digest);
    return true;
  };
  bool done = true;
  for (std::size_t at = 0; done && at < content.size(); at += kLeafBytes) {
    const std::size_t size = std::min(kLeafBytes, content.size() - at);
    done = keep({}, ByteView(content).subspan(at, size));
  }
  const std::vector<Digest> leaves = kept;
  if (done && keep(leaves, {}) && parts_.pin(kept.back())) return kept.back();
  // Others were here before: of a snapshot, or of a state that is fetched, whose root is not pinned
  // yet.
  for (const Digest& digest : added)
    parts_.discard(digest);
  return std::nullopt;
}

Frame ContentShelf::read(const Digest& name) const {
  const auto root = parts_.read(name);
  if (!root) return nullptr;
  Bytes content;
  const auto top = decode_part(*root);
  if (!top) return nullptr;
  for (const Digest& leaf : top->children) {
    const auto bytes = parts_.read(leaf);
    const auto part = bytes ? decode_part(*bytes) : std::nullopt;
    if (!part) return nullptr;
    content.insert(content.end(), part->payload.begin(), part->payload.end());
  }
  return std::make_shared<const Bytes>(std::move(content));
}

}  // namespace prophecy::pbft

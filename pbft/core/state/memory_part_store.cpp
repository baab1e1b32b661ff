#include "pbft/core/state/memory_part_store.hpp"

#include <utility>

namespace prophecy::pbft {

std::optional<Bytes> MemoryPartStore::read(const Digest& digest) const {
  const auto found = parts_.find(digest);
  if (found == parts_.end()) return std::nullopt;
  return found->second;
}

bool MemoryPartStore::keep(const Digest& digest, ByteView part) {
  const auto [place, added] = parts_.try_emplace(digest, part.begin(), part.end());
  if (added) bytes_ += part.size();
  return true;
}

void MemoryPartStore::discard(const Digest& digest) {
  if (holds(digest) && !is_pinned(digest)) remove(digest);
}

std::optional<std::vector<Digest>> MemoryPartStore::children_of(const Digest& digest) const {
  const auto found = parts_.find(digest);
  if (found == parts_.end()) return std::nullopt;
  auto part = decode_part(found->second);
  if (!part) return std::nullopt;
  return std::move(part->children);
}

bool MemoryPartStore::pin(const Digest& root) {
  std::vector<Digest> added;
  return references_.pin(
      root, [this](const Digest& digest) { return children_of(digest); }, added);
}

void MemoryPartStore::unpin(const Digest& root) {
  for (const Digest& gone :
       references_.unpin(root, [this](const Digest& digest) { return children_of(digest); })) {
    remove(gone);
  }
}

void MemoryPartStore::let_go(const Digest& root) {
  (void)references_.unpin(root, [this](const Digest& digest) { return children_of(digest); });
}

void MemoryPartStore::remove(const Digest& digest) {
  const auto found = parts_.find(digest);
  bytes_ -= found->second.size();
  parts_.erase(found);
}

void MemoryPartStore::sweep() {
  std::vector<Digest> left_over;
  for (const auto& [digest, part] : parts_) {
    if (!references_.holds(digest)) left_over.push_back(digest);
  }
  for (const Digest& digest : left_over)
    remove(digest);
}

}  // namespace prophecy::pbft

// Parts in a map, for tests of what fills and reads a store: it can be full, refuse or swallow one,
// or have a backlog, shows all that it holds, and notices a part that comes before its children.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "pbft/core/state/part_references.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft::test {

class MapPartStore final : public PartStore {
 public:
  [[nodiscard]] bool holds(const Digest& digest) const override { return parts.contains(digest); }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return references_.holds(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override {
    ++reads;
    const auto entry = parts.find(digest);
    if (entry == parts.end()) return std::nullopt;
    return entry->second;
  }
  [[nodiscard]] std::uint64_t losses() const override { return lost; }
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override {
    const auto decoded = decode_part(part);
    if (full || refused == digest || !decoded || sha256(part) != digest) return false;
    for (const Digest& child : decoded->children)
      children_first = children_first && (holds(child) || child == swallowed);
    if (digest == swallowed) return true;
    kept += parts.emplace(digest, Bytes(part.begin(), part.end())).second ? 1 : 0;
    return true;
  }
  [[nodiscard]] bool has_backlog() const override { return is_behind; }
  void after_backlog(const std::function<void()>& then) override {
    if (!is_behind) return then();
    waiting.push_back(then);
  }
  void end_backlog() {
    is_behind = false;
    for (const auto& then : std::exchange(waiting, {}))
      then();
  }
  void discard(const Digest& digest) override {
    if (!is_pinned(digest)) parts.erase(digest);
  }
  [[nodiscard]] bool pin(const Digest& root) override {
    std::vector<Digest> added;
    return references_.pin(root, children_of(), added);
  }
  void unpin(const Digest& root) override {
    for (const Digest& gone : references_.unpin(root, children_of()))
      parts.erase(gone);
  }
  void let_go(const Digest& root) override { (void)references_.unpin(root, children_of()); }

  // Whether all below the root is here.
  [[nodiscard]] bool reaches_all(const Digest& root) const {
    const auto entry = parts.find(root);
    if (entry == parts.end()) return false;
    const auto part = decode_part(entry->second);
    for (const Digest& child : part->children) {
      if (!reaches_all(child)) return false;
    }
    return true;
  }
  Digest add(std::span<const Digest> children, ByteView payload) {
    Bytes part = encode_part(children, payload);
    const Digest digest = sha256(part);
    parts.emplace(digest, std::move(part));
    return digest;
  }

  std::map<Digest, Bytes> parts;
  bool full = false;
  bool is_behind = false;
  std::vector<std::function<void()>> waiting;  // for the end of that
  std::optional<Digest> refused;
  std::optional<Digest> swallowed;  // is not kept, and nobody is told
  bool children_first = true;
  std::size_t kept = 0;  // new ones
  std::uint64_t lost = 0;
  mutable std::size_t reads = 0;

 private:
  [[nodiscard]] PartReferences::ChildrenOf children_of() const {
    return [this](const Digest& digest) -> std::optional<std::vector<Digest>> {
      const auto entry = parts.find(digest);
      if (entry == parts.end()) return std::nullopt;
      return decode_part(entry->second)->children;
    };
  }

  PartReferences references_;
};

}  // namespace prophecy::pbft::test

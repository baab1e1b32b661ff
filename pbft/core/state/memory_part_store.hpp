// Parts in memory: for replicas without a folder, and for tests.
#pragma once

#include <map>

#include "pbft/core/state/part_references.hpp"
#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

class MemoryPartStore : public PartStore {
 public:
  [[nodiscard]] bool holds(const Digest& digest) const override { return parts_.contains(digest); }
  [[nodiscard]] bool is_pinned(const Digest& digest) const override {
    return references_.holds(digest);
  }
  [[nodiscard]] std::optional<Bytes> read(const Digest& digest) const override;
  [[nodiscard]] bool keep(const Digest& digest, ByteView part) override;
  void discard(const Digest& digest) override;
  [[nodiscard]] bool pin(const Digest& root) override;
  void unpin(const Digest& root) override;
  void let_go(const Digest& root) override;
  // Removes what no pinned root leads to.
  void sweep();

  [[nodiscard]] const std::map<Digest, Bytes>& all() const { return parts_; }
  [[nodiscard]] std::size_t parts() const { return parts_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] std::optional<std::vector<Digest>> children_of(const Digest& digest) const;
  void remove(const Digest& digest);

  std::map<Digest, Bytes> parts_;
  std::size_t bytes_ = 0;
  PartReferences references_;
};

}  // namespace prophecy::pbft

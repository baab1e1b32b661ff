// `PartKeeper` keeps the parts of one tree in a part store, and remembers those that are new, so
// that they can be taken back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pbft/core/state/part_store.hpp"

namespace prophecy::pbft {

// A larger result is kept in pieces of this size.
inline constexpr std::size_t kResultPieceBytes = 128 * 1024;

class PartKeeper {
 public:
  explicit PartKeeper(PartStore& parts) : parts_(parts) {}

  // The part's name, whether the store has taken the part or refused.
  Digest keep(std::span<const Digest> children, ByteView payload);
  // Nothing, and nothing is kept of it, when the store has no room, or 32 MiB of results are new.
  [[nodiscard]] std::optional<Digest> keep_result(ByteView result);
  [[nodiscard]] bool is_pinned(const Digest& digest) const { return parts_.is_pinned(digest); }
  // The store has refused a part that is not a result's.
  [[nodiscard]] bool has_refused() const { return has_refused_; }
  // Discards all new parts.
  void take_back() { take_back(0); }

 private:
  Digest keep_pieces(ByteView result);
  void take_back(std::size_t added);

  PartStore& parts_;
  std::vector<Digest> added_;
  std::size_t results_bytes_ = 0;  // of new ones
  bool has_refused_ = false;
  bool is_full_ = false;  // a result found no room: no further one is tried
};

}  // namespace prophecy::pbft

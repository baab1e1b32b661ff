#include "pbft/core/execution/part_keeper.hpp"

#include <algorithm>
#include <utility>

#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {
namespace {

// Results beyond so many new bytes wait for a later tree: a store takes only so much in one event.
constexpr std::size_t kNewResultsBytesMax = std::size_t{32} << 20;
static_assert(kResultBytesMax < kNewResultsBytesMax);

}  // namespace

Digest PartKeeper::keep(std::span<const Digest> children, ByteView payload) {
  const Bytes part = encode_part(children, payload);
  const Digest digest = sha256(part);
  if (parts_.holds(digest)) return digest;
  if (parts_.keep(digest, part)) {
    added_.push_back(digest);
  } else {
    has_refused_ = true;
  }
  return digest;
}

std::optional<Digest> PartKeeper::keep_result(ByteView result) {
  if (is_full_ || results_bytes_ + result.size() > kNewResultsBytesMax) return std::nullopt;
  const std::size_t before = added_.size();
  const bool had_refused = std::exchange(has_refused_, false);
  const Digest root = keep_pieces(result);
  is_full_ = std::exchange(has_refused_, had_refused);
  if (is_full_) {
    take_back(before);
    return std::nullopt;
  }
  if (added_.size() > before) results_bytes_ += result.size();
  return root;
}

Digest PartKeeper::keep_pieces(ByteView result) {
  if (result.size() <= kResultPieceBytes) return keep({}, result);
  std::vector<Digest> pieces;
  for (std::size_t at = 0; at < result.size() && !has_refused_; at += kResultPieceBytes) {
    const std::size_t size = std::min(kResultPieceBytes, result.size() - at);
    pieces.push_back(keep({}, result.subspan(at, size)));
  }
  return keep(pieces, {});
}

void PartKeeper::take_back(std::size_t added) {
  for (; added_.size() > added; added_.pop_back())
    parts_.discard(added_.back());
}

}  // namespace prophecy::pbft

// `RabinChunks` cuts bytes where a Rabin fingerprint of the last few bytes says so (LBFS;
// section 8.2 of the paper), so that an insertion moves the cuts around it and no others.
//
// No I/O. Plain functions over an object without changing state.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace prophecy::measurement {

constexpr std::size_t kChunkBytes = 1024;  // in expectation
constexpr std::size_t kChunksMin = 20;     // smaller chunks make at least so many, if bytes suffice

class RabinChunks {
 public:
  // `expected` is a power of two, at most kChunkBytes.
  explicit RabinChunks(std::size_t expected);
  // A digest of each chunk.
  [[nodiscard]] std::vector<std::uint64_t> digests(std::string_view bytes) const;

 private:
  std::size_t expected_;
  std::size_t window_;
  std::array<std::uint64_t, 256> push_{};  // what leaves the polynomial's degree
  std::array<std::uint64_t, 256> pop_{};   // what a byte adds by the time it leaves the window
};

// How two bodies differ, cut alike: as the smaller of them needs to have enough chunks.
struct BodyDifference {
  std::size_t chunks_before = 0;
  std::size_t chunks_after = 0;
  // Chunks of either that the other has not, by the chunks of both.
  double share = 0;
  // One contiguous insertion, deletion or replacement of chunks that keeps at least half of the
  // chunks (deletion, replacement) and at most doubles their number (insertion, replacement).
  bool one_edit = false;
  // The same, and what was replaced shares no chunk with what stands in its place.
  bool one_strict_edit = false;
};
[[nodiscard]] BodyDifference compare_bodies(std::string_view before, std::string_view after);

}  // namespace prophecy::measurement

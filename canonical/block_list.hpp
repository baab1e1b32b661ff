// A body that is too large to be held whole, as the digests of its blocks: what replicas agree on
// in its place, and what each block is compared with before a client gets a byte of it.
//
// All blocks but the last have the size that the profile says; the last has the rest. The digests
// are SHA-256, without a key, since replicas compute them; the list as a whole is sketched with the
// installation's secret like any answer.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"
#include "base/digest.hpp"

namespace prophecy::sketch {

constexpr std::uint32_t kBlockBytesMin = 4 << 10;
// Two of them are what one client's connection holds.
constexpr std::uint32_t kBlockBytesMax = 2 << 20;
// 32 GiB in blocks of 256 KiB, and 4 MiB of digests: an agreed result has no more than 17 MiB.
constexpr std::size_t kBlocksMax = 1 << 17;
// The one status that an answer in blocks has.
constexpr std::uint16_t kStatusInBlocks = 200;

// The length of a body that nobody knows before its end. It has no list, and is not verified.
constexpr std::uint64_t kOpenEnded = UINT64_MAX;

// A view of one. With a length of 0 there is none.
struct BlockList {
  std::uint64_t length = 0;  // of the body
  std::uint32_t block_bytes = 0;
  ByteView digests;

  [[nodiscard]] std::size_t count() const { return digests.size() / sizeof(Sha256::Digest); }
  // Requires a valid list, and a block of it.
  [[nodiscard]] std::size_t size_of(std::size_t block) const;
  [[nodiscard]] std::uint64_t begin_of(std::size_t block) const {
    return std::uint64_t{block} * block_bytes;
  }
  [[nodiscard]] ByteView digest(std::size_t block) const;
  [[nodiscard]] bool matches(std::size_t block, std::string_view bytes) const;
};

// There is one, and it has as many digests as its length needs.
[[nodiscard]] bool is_valid(const BlockList& list);

// Makes the list of a body that comes in pieces; holds digests alone.
class BlockHasher {
 public:
  explicit BlockHasher(std::uint32_t block_bytes) : block_bytes_(block_bytes) {}

  // False: the body has more than kBlocksMax blocks, and no list.
  [[nodiscard]] bool update(std::string_view bytes);
  [[nodiscard]] std::uint64_t length() const { return length_; }  // so far
  // Once, behind the last piece. The list looks into this object.
  [[nodiscard]] BlockList finish();

 private:
  void end_block();

  std::uint32_t block_bytes_;
  std::uint32_t in_block_ = 0;  // bytes of the current block
  std::uint64_t length_ = 0;
  Sha256 hash_;
  Bytes digests_;
};

}  // namespace prophecy::sketch

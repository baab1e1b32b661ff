#include "canonical/block_list.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::sketch {

constexpr std::size_t kDigestSize = sizeof(Sha256::Digest);

std::size_t BlockList::size_of(std::size_t block) const {
  ASSERT(block < count());
  return static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, length - begin_of(block)));
}

ByteView BlockList::digest(std::size_t block) const {
  return digests.subspan(block * kDigestSize, kDigestSize);
}

bool BlockList::matches(std::size_t block, std::string_view bytes) const {
  return bytes.size() == size_of(block) &&
         equal_in_constant_time(sha256(as_bytes(bytes)), digest(block));
}

bool is_valid(const BlockList& list) {
  if (list.block_bytes < kBlockBytesMin || list.block_bytes > kBlockBytesMax) return false;
  const std::size_t count = list.count();
  if (count == 0 || count > kBlocksMax || list.digests.size() != count * kDigestSize) return false;
  return list.length > list.begin_of(count - 1) && list.length <= list.begin_of(count);
}

bool BlockHasher::update(std::string_view bytes) {
  while (!bytes.empty()) {
    if (digests_.size() == kBlocksMax * kDigestSize) return false;
    const std::size_t size = std::min<std::size_t>(bytes.size(), block_bytes_ - in_block_);
    hash_.update(as_bytes(bytes.substr(0, size)));
    in_block_ += static_cast<std::uint32_t>(size);
    length_ += size;
    bytes.remove_prefix(size);
    if (in_block_ == block_bytes_) end_block();
  }
  return true;
}

BlockList BlockHasher::finish() {
  if (in_block_ > 0) end_block();
  return {length_, block_bytes_, digests_};
}

void BlockHasher::end_block() {
  const Sha256::Digest digest = hash_.finish();
  digests_.insert(digests_.end(), digest.begin(), digest.end());
  hash_ = Sha256();
  in_block_ = 0;
}

}  // namespace prophecy::sketch

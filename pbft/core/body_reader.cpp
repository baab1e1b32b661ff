#include "pbft/core/body_reader.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "pbft/wire/body.hpp"

namespace prophecy::pbft {

// Until the leaf is here that has the byte at `offset`.
bool BodyReader::go_to(std::uint64_t offset) const {
  if (offset < begin_) {
    next_ = 0;
    begin_ = 0;
    leaf_.clear();
  }
  while (offset >= begin_ + leaf_.size()) {
    if (next_ == leaves_.size()) return false;
    const auto part = parts_.read(leaves_[next_]);
    const auto bytes = part ? decode_body_leaf(*part) : std::nullopt;
    if (!bytes) return false;
    begin_ += leaf_.size();
    leaf_.assign(bytes->begin(), bytes->end());
    ++next_;
  }
  return true;
}

bool BodyReader::read(std::uint64_t offset, std::span<char> into) const {
  ASSERT(offset <= size_ && into.size() <= size_ - offset);
  while (!into.empty()) {
    if (!go_to(offset)) return false;
    const std::size_t at = offset - begin_;
    const std::size_t size = std::min(into.size(), leaf_.size() - at);
    std::copy_n(leaf_.begin() + static_cast<std::ptrdiff_t>(at), size, into.begin());
    into = into.subspan(size);
    offset += size;
  }
  return true;
}

}  // namespace prophecy::pbft

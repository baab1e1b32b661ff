#include "pbft/core/bodies/body_reader.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/body.hpp"

namespace prophecy::pbft {

const BodyReader::Held* BodyReader::hold(std::size_t index) const {
  if (held_[0].index == index) return held_.data();
  std::swap(held_[0], held_[1]);
  if (held_[0].index == index) return held_.data();
  const auto part = parts_.read(leaves_[index]);
  const auto bytes = part ? decode_body_leaf(*part) : std::nullopt;
  if (!bytes) return nullptr;
  held_[0].index = index;
  held_[0].bytes.assign(bytes->begin(), bytes->end());
  return held_.data();
}

const BodyReader::Held* BodyReader::leaf_at(std::uint64_t offset) const {
  while (ends_.empty() || offset >= ends_.back()) {
    const std::size_t next = ends_.size();
    const Held* const leaf = next < leaves_.size() ? hold(next) : nullptr;
    if (leaf == nullptr) return nullptr;
    ends_.push_back(begin_of(next) + leaf->bytes.size());
  }
  const auto end = std::upper_bound(ends_.begin(), ends_.end(), offset);
  return hold(static_cast<std::size_t>(end - ends_.begin()));
}

bool BodyReader::read(std::uint64_t offset, std::span<char> into) const {
  ASSERT(offset <= size_ && into.size() <= size_ - offset);
  while (!into.empty()) {
    const Held* const leaf = leaf_at(offset);
    if (leaf == nullptr) return false;
    const std::size_t at = offset - begin_of(leaf->index);
    const std::size_t size = std::min(into.size(), leaf->bytes.size() - at);
    std::copy_n(leaf->bytes.begin() + static_cast<std::ptrdiff_t>(at), size, into.begin());
    into = into.subspan(size);
    offset += size;
  }
  return true;
}

}  // namespace prophecy::pbft

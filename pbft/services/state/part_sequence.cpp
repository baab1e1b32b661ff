#include "pbft/services/state/part_sequence.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::pbft {

Error malformed_state(std::string_view what) {
  return {ErrorKind::protocol, "the snapshot is malformed: " + std::string(what)};
}

Result<Digest> PartSink::put(Bytes part) {
  const Digest digest = sha256(part);
  if (pipe_ != nullptr) {
    if (auto kept = pipe_->keep(digest, std::move(part)); !kept) return kept.error();
  }
  return digest;
}

Result<> SequenceWriter::add(const Digest& part, std::uint8_t level) {
  if (levels_[level].size() == kPartChildrenMax) {
    if (level == kIndexLevelMax) return Error{ErrorKind::limit, "too much for one tree of parts"};
    if (auto closed = close(level); !closed) return closed;
  }
  levels_[level].push_back(part);
  return {};
}

Result<> SequenceWriter::close(std::uint8_t level) {
  const auto above = static_cast<std::uint8_t>(level + 1);
  auto index = sink_.put(encode_index(above, levels_[level]));
  if (!index) return index.error();
  levels_[level].clear();
  return add(*index, above);
}

Result<Digest> SequenceWriter::finish() {
  for (std::uint8_t level = 0; level < kIndexLevelMax; ++level) {
    const bool top = std::all_of(levels_.begin() + level + 1, levels_.end(),
                                 [](const auto& above) { return above.empty(); });
    if (top && levels_[level].size() == 1) return levels_[level].front();
    if (levels_[level].empty()) continue;
    if (auto closed = close(level); !closed) return closed.error();
  }
  ASSERT(!levels_[kIndexLevelMax].empty());
  if (levels_[kIndexLevelMax].size() == 1) return levels_[kIndexLevelMax].front();
  return Error{ErrorKind::limit, "too much for one tree of parts"};
}

std::optional<Digest> SequenceReader::step() {
  if (next_) return std::exchange(next_, std::nullopt);
  while (!open_.empty()) {
    Open& top = open_.back();
    if (top.position < top.index.children.size()) return top.index.children[top.position++];
    open_.pop_back();
  }
  return std::nullopt;
}

Result<std::optional<SequenceReader::Leaf>> SequenceReader::next() {
  for (;;) {
    const auto digest = step();
    if (!digest) return std::optional<Leaf>();
    auto bytes = parts_.read(*digest);
    if (!bytes) return bytes.error();
    auto part = decode_state_part(*bytes);
    if (!part) return malformed_state("a part is of no known form");
    auto* index = std::get_if<PartIndex>(&*part);
    const unsigned above = open_.empty() ? 0 : open_.back().index.level;
    if (index == nullptr) {
      if (above > 1) return malformed_state("an index lacks a level");
      // Moving the vector leaves its bytes where they are.
      return std::optional<Leaf>(Leaf{std::move(*bytes), std::move(*part)});
    }
    if (auto entered = enter(std::move(*index)); !entered) return entered.error();
  }
}

Result<> SequenceReader::enter(PartIndex index) {
  if (!open_.empty() && index.level + 1u != open_.back().index.level) {
    return malformed_state("an index is of the wrong level");
  }
  if (had_room_[index.level] || (open_.empty() && index.children.size() == 1)) {
    return malformed_state("an index is not full");
  }
  had_room_[index.level] = index.children.size() < kPartChildrenMax;
  has_index_ = true;
  open_.push_back({std::move(index), 0});
  return {};
}

Result<> ContentWriter::add(ByteView bytes) {
  if (bytes.size() > bytes_max_ - size_) {
    return Error{ErrorKind::limit, "more than " + std::to_string(bytes_max_) + " bytes"};
  }
  size_ += bytes.size();
  while (!bytes.empty()) {
    if (piece_.size() == kContentBytesMax) {
      if (auto closed = close(); !closed) return closed;
    }
    const std::size_t taken = std::min(bytes.size(), kContentBytesMax - piece_.size());
    piece_.insert(piece_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
  }
  return {};
}

Result<> ContentWriter::close() {
  auto digest = sink_.put(encode_content(piece_));
  if (!digest) return digest.error();
  piece_.clear();
  return sequence_.add(*digest);
}

Result<Digest> ContentWriter::finish() {
  if (!piece_.empty() || size_ == 0) {
    if (auto closed = close(); !closed) return closed.error();
  }
  return sequence_.finish();
}

Result<ByteView> ContentReader::next() {
  auto leaf = sequence_.next();
  if (!leaf) return leaf.error();
  if (!*leaf) return ByteView();
  leaf_ = std::move(*leaf);
  const auto* piece = std::get_if<ContentPiece>(&leaf_->part);
  if (piece == nullptr) return malformed_state("content is a listing");
  const bool alone = !begun_ && !sequence_.has_index();
  if (short_one_ || (piece->bytes.empty() && !alone)) {
    return malformed_state("a piece of content is too short");
  }
  begun_ = true;
  short_one_ = piece->bytes.size() < kContentBytesMax;
  if (piece->bytes.size() > bytes_max_ - size_) {
    return malformed_state("content is longer than it says, or than it may be");
  }
  size_ += piece->bytes.size();
  return piece->bytes;
}

}  // namespace prophecy::pbft

#include "measurement/input/archive_bytes.hpp"

#include <algorithm>
#include <utility>

#include "base/assert.hpp"

namespace prophecy::measurement {
namespace {

constexpr std::string_view kMagic("\x1f\x8b", 2);
constexpr std::string_view kMagicAndMethod("\x1f\x8b\x08", 3);
constexpr std::size_t kStepBytes = 256 << 10;
// A file that expands to more than this, and to so many times its size, is a bomb. Text in captures
// shrinks to a tenth, and a run of one byte to a thousandth.
constexpr std::uint64_t kExpandedFree = std::uint64_t{1} << 30;
constexpr std::uint64_t kRatioMax = 200;

}  // namespace

ArchiveBytes::ArchiveBytes(ArchiveSink& sink) : sink_(sink) {}

void ArchiveBytes::feed(std::string_view input) {
  if (state_ == State::plain) {
    sink_.on_bytes(input, position_, true);
    position_ += input.size();
    return;
  }
  std::string joined;
  if (!carried_.empty()) {
    joined = std::exchange(carried_, {});
    joined.append(input);
    input = joined;
  }
  pending_ = input;
  while (!pending_.empty() && step()) {
  }
  carried_.assign(pending_);
  pending_ = {};
}

void ArchiveBytes::finish() {
  if (state_ == State::kind && !carried_.empty()) {
    sink_.on_bytes(carried_, position_, true);
  } else if (state_ == State::member) {
    sink_.on_gap({member_, "the file ends inside a gzip member"});
  } else if (state_ == State::between && !carried_.empty()) {
    sink_.on_gap({position_, "bytes that are no gzip member"});
  }
  state_ = State::stopped;
}

bool ArchiveBytes::step() {
  switch (state_) {
    case State::kind:
      if (pending_.size() < kMagic.size()) return false;
      if (pending_.starts_with(kMagic)) {
        decoder_ = make_decoder(Coding::gzip);
        state_ = State::between;
        return true;
      }
      state_ = State::plain;
      sink_.on_bytes(pending_, position_, true);
      take(pending_.size());
      return true;
    case State::plain:
      UNREACHABLE();
    case State::between:
      return begin_member();
    case State::member:
      return inflate();
    case State::searching:
      return search();
    case State::stopped:
      take(pending_.size());
      return true;
  }
  UNREACHABLE();
}

bool ArchiveBytes::begin_member() {
  if (pending_.size() < kMagic.size()) return false;
  if (!pending_.starts_with(kMagic)) {
    sink_.on_gap({position_, "bytes that are no gzip member"});
    state_ = State::searching;
    return true;
  }
  decoder_->reset();
  member_ = position_;
  state_ = State::member;
  return true;
}

bool ArchiveBytes::inflate() {
  out_.clear();
  const DecodeProgress progress = decoder_->decode(pending_, out_, kStepBytes);
  take(progress.consumed);
  expanded_ += out_.size();
  if (!out_.empty()) sink_.on_bytes(out_, member_, false);
  if (progress.state == DecodeState::failed) {
    sink_.on_gap({member_, "a gzip member is damaged"});
    state_ = State::searching;
  } else if (progress.state == DecodeState::end) {
    state_ = State::between;
  } else if (expands_too_much()) {
    sink_.on_gap(
        {member_, "the file expands to more than 200 times its size; the rest is left out"});
    state_ = State::stopped;
  } else if (pending_.empty() && progress.full) {
    return inflate();
  }
  return true;
}

bool ArchiveBytes::search() {
  // The member that has failed may begin with the same bytes, but those were taken.
  const std::size_t found = pending_.find(kMagicAndMethod);
  if (found != std::string_view::npos) {
    take(found);
    state_ = State::between;
    return true;
  }
  // The last bytes may be the first of a member's.
  const std::size_t kept = std::min(pending_.size(), kMagicAndMethod.size() - 1);
  take(pending_.size() - kept);
  return false;
}

void ArchiveBytes::take(std::size_t size) {
  pending_.remove_prefix(size);
  position_ += size;
}

bool ArchiveBytes::expands_too_much() const {
  return expanded_ > kExpandedFree && expanded_ / kRatioMax > position_;
}

}  // namespace prophecy::measurement

#include "consistency/taker.hpp"

#include <utility>

namespace prophecy::consistency {
namespace {

constexpr std::uint64_t kRangePercent = 30;
constexpr std::uint64_t kTakerLeavingPercent = 3;
constexpr std::uint64_t kSlowTakerPercent = 30;

}  // namespace

void Taker::reset() {
  has_begun_ = is_untaken_armed_ = false;
  is_ready_ = true;
  taken_.clear();
  untaken_ = 0;
}

sketcher::ReadMachine::ClientView Taker::view(std::uint64_t length, bool may_leave) {
  taken_.clear();
  untaken_ = 0;
  first_ = 0;
  size_ = length;
  if (length != sketch::kOpenEnded && random_.chance(kRangePercent)) {
    first_ = random_.below(length - kPartBytesMin);
    size_ = random_.between(kPartBytesMin, length - first_);
  }
  is_ready_ = !random_.chance(kSlowTakerPercent);
  return {.has_left = may_leave && random_.chance(kTakerLeavingPercent),
          .may_begin = is_ready_,
          .first = first_,
          .size = size_};
}

bool Taker::take(std::string_view bytes) {
  taken_ += bytes;
  is_ready_ = !random_.chance(kSlowTakerPercent);
  untaken_ = 0;
  return is_ready_;
}

bool Taker::becomes_ready() {
  if (is_ready_ || !random_.chance(50)) return false;
  is_ready_ = true;
  untaken_ = 0;
  return true;
}

std::size_t Taker::note_brought(std::size_t bytes) {
  if (is_ready_) return 0;
  return untaken_ += bytes;
}

}  // namespace prophecy::consistency

#include "http/http2/flood_guard.hpp"

#include <algorithm>

namespace prophecy::http {
namespace {
constexpr std::size_t kBytesPerFrame = 2 << 10;
}  // namespace

void FloodGuard::on_body_sent(std::size_t bytes) {
  sent_bytes_ += bytes;
  frames_.give(
      static_cast<std::uint32_t>(std::min<std::size_t>(sent_bytes_ / kBytesPerFrame, UINT32_MAX)));
  sent_bytes_ %= kBytesPerFrame;
}

bool FloodGuard::Budget::take(TimePoint now) {
  if (now >= refilled_ + interval_) {
    const auto intervals = (now - refilled_) / interval_;
    give(static_cast<std::uint32_t>(std::min<std::int64_t>(intervals, size_)));
    refilled_ += intervals * interval_;
  }
  if (left_ == 0) return false;
  --left_;
  return true;
}

}  // namespace prophecy::http

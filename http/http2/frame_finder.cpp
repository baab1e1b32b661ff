#include "http/http2/frame_finder.hpp"

#include <algorithm>

namespace prophecy::http {
namespace {
constexpr std::uint8_t kData = 0;
constexpr std::uint8_t kLastKnown = 9;  // CONTINUATION
constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kPadded = 8;
}  // namespace

std::optional<FrameFinder::Found> FrameFinder::find(std::string_view input) {
  std::size_t position = 0;
  while (position < input.size()) {
    if (skipped_ > 0) {
      const std::size_t size = std::min(skipped_, input.size() - position);
      skipped_ -= size;
      position += size;
      continue;
    }
    header_[header_size_++] = static_cast<std::uint8_t>(input[position++]);
    if (header_size_ < kHeaderBytes) continue;
    const std::size_t size =
        std::size_t{header_[0]} << 16 | std::size_t{header_[1]} << 8 | header_[2];
    const bool is_data = header_[3] == kData;
    const bool is_padded = is_data && (header_[4] & kPadded) != 0 && size > 0;
    if (is_padded && header_size_ == kHeaderBytes) continue;
    skipped_ = size - (header_size_ - kHeaderBytes);
    header_size_ = 0;
    if (!is_data && header_[3] <= kLastKnown) continue;
    const std::size_t padding = is_padded ? header_[kHeaderBytes] : 0;
    const std::uint32_t id = std::uint32_t{header_[5]} << 24 | std::uint32_t{header_[6]} << 16 |
                             std::uint32_t{header_[7]} << 8 | header_[8];
    return Found{.header_end = position,
                 .stream_id = static_cast<std::int32_t>(id & 0x7fffffff),
                 .is_data = is_data,
                 .is_idle = !is_data || (skipped_ <= padding && (header_[4] & kEndStream) == 0)};
  }
  return std::nullopt;
}

}  // namespace prophecy::http

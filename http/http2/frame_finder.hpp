// Finds those frames among a client's bytes, in whatever pieces they come, that nghttp2 may drop
// without telling anybody: DATA of streams that it does not know, and frames of unknown types.
//
// No I/O; not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace prophecy::http {

class FrameFinder {
 public:
  struct Found {
    std::size_t header_end;  // how much of the input leads up to the last byte of its header
    std::int32_t stream_id;
    bool is_data;  // else of an unknown type
    bool is_idle;  // carries nothing: neither bytes of a body nor its end
  };
  // The first in the input; what is behind its header has to be offered next. None: the input is
  // taken. The first bytes of all are the preface.
  [[nodiscard]] std::optional<Found> find(std::string_view input);

 private:
  static constexpr std::size_t kPrefaceBytes = 24;
  static constexpr std::size_t kHeaderBytes = 9;

  std::size_t skipped_ = kPrefaceBytes;  // that belong to no header
  std::array<std::uint8_t, kHeaderBytes> header_{};
  std::size_t header_size_ = 0;
};

}  // namespace prophecy::http

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
    // How much of the input leads up to the last byte of its header, or of its padding's length.
    std::size_t header_end;
    std::int32_t stream_id;
    bool is_data;  // else of an unknown type
    bool is_idle;  // carries nothing, or padding alone: neither bytes of a body nor its end
  };
  // The first in the input; what is behind its header has to be offered next. None: the input is
  // taken. The first bytes of all are the preface.
  [[nodiscard]] std::optional<Found> find(std::string_view input);

 private:
  static constexpr std::size_t kPrefaceBytes = 24;
  static constexpr std::size_t kHeaderBytes = 9;
  // Behind that of DATA with padding: how much of it there is.
  static constexpr std::size_t kPaddingBytes = 1;

  std::size_t skipped_ = kPrefaceBytes;  // that belong to no header
  std::array<std::uint8_t, kHeaderBytes + kPaddingBytes> header_{};
  std::size_t header_size_ = 0;
};

}  // namespace prophecy::http

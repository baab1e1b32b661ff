// Content codings (RFC 9110, 8.4.1), and the choice among them by Accept-Encoding (12.5.3).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "http/message.hpp"

namespace prophecy::http {

enum class ContentCoding : std::uint8_t { identity, gzip, brotli, zstd };
constexpr std::size_t kContentCodingCount = 4;
// Its name in fields: "br" for brotli.
[[nodiscard]] std::string_view to_string(ContentCoding coding);

// Of those offered, the one that the client prefers; of equals the first. `identity` where the
// client prefers that, takes none of them, or says nothing. A list that is malformed counts as far
// as it can be read.
[[nodiscard]] ContentCoding choose_coding(const FieldList& request,
                                          std::span<const ContentCoding> offered);

}  // namespace prophecy::http

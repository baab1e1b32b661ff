// `encode` codes a body for clients that take it: gzip (zlib), brotli or zstd.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/content_coding.hpp"

namespace prophecy::sketcher {

// Nothing: the result would have more than `size_max` bytes, or there is no memory. The same bytes
// each time for the same body. Requires a coding other than identity.
[[nodiscard]] std::optional<std::string> encode(http::ContentCoding coding, std::string_view body,
                                                std::size_t size_max);

}  // namespace prophecy::sketcher

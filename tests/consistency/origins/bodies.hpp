// Bodies of the simulated service that are large enough to come in blocks: a short text, written
// again and again, so that each part says which text it is a part of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace prophecy::consistency {

// Of the smallest size that a profile may have (sketch::kBlockBytesMin).
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kWholeAnswerBytes = 1024;
constexpr std::size_t kLargeBytes = 9000;  // two blocks, and some of a third
constexpr std::size_t kLargeBlocks = (kLargeBytes + kBlockBytes - 1) / kBlockBytes;
constexpr std::size_t kPartBytesMin = 256;

// Requires a text without '|' and of less than half of kPartBytesMin.
[[nodiscard]] std::string large_body(std::string_view text);
// The text of which `part` is the large body from `first` on. Nothing: it is of none.
[[nodiscard]] std::optional<std::string> text_of_part(std::string_view part, std::uint64_t first);

}  // namespace prophecy::consistency

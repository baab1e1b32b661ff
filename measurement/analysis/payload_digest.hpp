// A WARC-Payload-Digest: "sha1:" or "sha256:" and the digest in base 32 or in hexadecimal.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.hpp"

namespace prophecy::measurement {

enum class DigestAlgorithm : std::uint8_t { sha1, sha256 };

struct DeclaredDigest {
  DigestAlgorithm algorithm = DigestAlgorithm::sha1;
  Bytes value;
};

// Nothing for other algorithms, and for a value of another length.
[[nodiscard]] std::optional<DeclaredDigest> parse_digest(std::string_view text);

}  // namespace prophecy::measurement

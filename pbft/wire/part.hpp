// A part: one node of a tree of hashed state. It names its children by their SHA-256, and carries
// bytes that mean something to whoever made the tree. Its own digest is the SHA-256 of its encoded
// form, so the digest of the root proves every part below it, whoever hands them over.
//
//   count u16, count times a digest, payload (the rest)
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "pbft/wire/messages.hpp"

namespace prophecy::pbft {

constexpr std::size_t kPartBytesMax = 256 * 1024;
constexpr std::size_t kPartChildrenMax = 4096;

struct Part {
  std::vector<Digest> children;
  ByteView payload;  // into what was decoded
};

// Requires what decode_part() admits.
[[nodiscard]] Bytes encode_part(std::span<const Digest> children, ByteView payload);
[[nodiscard]] std::optional<Part> decode_part(ByteView bytes);

}  // namespace prophecy::pbft

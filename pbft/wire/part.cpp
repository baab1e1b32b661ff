#include "pbft/wire/part.hpp"

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {

static_assert(2 + kPartChildrenMax * sizeof(Digest) <= kPartBytesMax);

Bytes encode_part(std::span<const Digest> children, ByteView payload) {
  ASSERT(children.size() <= kPartChildrenMax);
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(static_cast<std::uint16_t>(children.size()));
  for (const Digest& child : children)
    writer.raw(child);
  writer.raw(payload);
  ASSERT(bytes.size() <= kPartBytesMax);
  return bytes;
}

std::optional<Part> decode_part(ByteView bytes) {
  if (bytes.size() > kPartBytesMax) return std::nullopt;
  Reader reader(bytes);
  const auto count = reader.integer<std::uint16_t>();
  if (count > kPartChildrenMax || reader.remaining() < count * sizeof(Digest)) return std::nullopt;
  Part part;
  part.children.resize(count);
  for (Digest& child : part.children)
    reader.fixed(child);
  part.payload = reader.raw(reader.remaining());
  if (reader.failed()) return std::nullopt;
  return part;
}

}  // namespace prophecy::pbft

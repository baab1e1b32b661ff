// How every frame begins and ends, for the files that encode and decode messages.
#pragma once

#include <memory>
#include <utility>

#include "base/codec.hpp"
#include "pbft/auth/key_ring.hpp"
#include "pbft/wire/frame.hpp"
#include "pbft/wire/frame_header.hpp"
#include "pbft/wire/limits.hpp"

namespace prophecy::pbft {

inline void write_header(Writer& writer, MessageType type, NodeId sender) {
  writer.integer(static_cast<std::uint8_t>(type));
  writer.integer(kWireVersion);
  writer.integer(sender);
}

// Yields the sender; fails the reader when the frame is not of the wanted type.
inline NodeId read_header(Reader& reader, MessageType type) {
  const bool right_type = reader.integer<std::uint8_t>() == static_cast<std::uint8_t>(type);
  const bool right_version = reader.integer<std::uint8_t>() == kWireVersion;
  if (!right_type || !right_version) reader.fail();
  return reader.integer<std::uint32_t>();
}

// What was read so far: what the rest of the frame proves.
inline ByteView consumed(ByteView frame, const Reader& reader) {
  return frame.first(frame.size() - reader.remaining());
}

inline Frame share(Bytes&& bytes) {
  return std::make_shared<const Bytes>(std::move(bytes));
}

// Everything so far is the content; likewise below.
inline Frame authenticate(Bytes&& bytes, const KeyRing& keys) {
  keys.append_authenticator(sha256(bytes), bytes);
  return share(std::move(bytes));
}

inline Frame sign(Bytes&& bytes, const KeyRing& keys) {
  const Signature signature = keys.sign(sha256(bytes));
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return share(std::move(bytes));
}

}  // namespace prophecy::pbft

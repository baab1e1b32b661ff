// The header of a frame, for the files that encode and decode messages.
#pragma once

#include "base/codec.hpp"
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

}  // namespace prophecy::pbft

#include "pbft/wire/epoch_refusal.hpp"

#include "base/codec.hpp"

namespace prophecy::pbft {
Bytes encode(const EpochRefusal& refusal) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(kEpochRefusalMark);
  writer.integer(static_cast<std::uint8_t>(refusal.kind));
  writer.integer(refusal.newest);
  return bytes;
}

std::optional<EpochRefusal> decode_epoch_refusal(ByteView result) {
  Reader reader(result);
  const bool is_marked = reader.integer<std::uint32_t>() == kEpochRefusalMark;
  const auto kind = reader.integer<std::uint8_t>();
  const auto newest = reader.integer<std::uint64_t>();
  if (!is_marked || !reader.complete()) return std::nullopt;
  if (kind != static_cast<std::uint8_t>(EpochRefusal::Kind::too_old) &&
      kind != static_cast<std::uint8_t>(EpochRefusal::Kind::too_new)) {
    return std::nullopt;
  }
  return EpochRefusal{static_cast<EpochRefusal::Kind>(kind), newest};
}

}  // namespace prophecy::pbft

// Any bytes as what another member of the ring says: what is decoded is within its limits, and is
// spelled as it would be encoded. However the bytes are cut, the reader finds the same messages.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "dht/wire/hand_over_frames.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::dht;

void require(bool holds) {
  if (!holds) std::abort();
}

Bytes encoded(const HandOverMessage& message) {
  return std::visit([](const auto& of) { return encode_frame(of); }, message);
}

// All messages, encoded, up to the first byte that is none.
Bytes read_in(ByteView bytes, std::size_t step) {
  HandOverReader reader;
  Bytes found;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const bool goes_on = reader.feed(bytes.subspan(at, std::min(step, bytes.size() - at)));
    while (const auto message = reader.take()) {
      const Bytes again = encoded(*message);
      found.insert(found.end(), again.begin(), again.end());
    }
    if (!goes_on) break;
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  constexpr std::size_t kLengthBytes = 4;
  if (const auto message = decode_frame(bytes)) {
    const Bytes again = encoded(*message);
    require(again.size() == size + kLengthBytes && size <= kHandOverFrameMax);
    require(std::equal(bytes.begin(), bytes.end(), again.begin() + kLengthBytes));
    // And as a frame, behind which there is something else.
    Bytes twice = again;
    twice.insert(twice.end(), again.begin(), again.end());
    require(read_in(twice, 1 + size / 3) == twice);
  }
  const Bytes whole = read_in(bytes, size + 1);
  require(whole.size() <= size && std::equal(whole.begin(), whole.end(), bytes.begin()));
  require(read_in(bytes, 1) == whole);
  return 0;
}

#include "pbft/wire/agreed_input.hpp"

#include <string_view>

#include "base/codec.hpp"

namespace prophecy::pbft {
namespace {

constexpr std::string_view kSeedPurpose = "prophecy pbft request seed 1";

}  // namespace

void append_to_batch(Sha256& batch, const AgreedInput& input) {
  Bytes bytes;
  Writer writer(bytes);
  writer.integer(input.time);
  writer.raw(input.seed);
  batch.update(bytes);
}

Seed seed_of_request(const Seed& batch, std::uint16_t index) {
  Bytes info = to_bytes(kSeedPurpose);
  Writer writer(info);
  writer.integer(index);
  writer.integer(std::uint8_t{1});  // the first and only block of the expansion
  Hmac<Sha256> expand(batch);
  expand.update(info);
  return expand.finish();
}

}  // namespace prophecy::pbft

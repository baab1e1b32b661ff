// Any bytes as a part of a state: what is decoded cannot leave its folder, and is encoded to the
// same bytes again.
#include <cstdint>
#include <cstdlib>

#include "pbft/services/state/state_parts.hpp"

namespace {

using namespace prophecy;
using namespace prophecy::pbft;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_sound(const FolderEntry& entry) {
  require(is_admissible_name(entry.name));
  require(entry.name.find('/') == std::string::npos && entry.name != "..");
  require((entry.mode & ~kModeBits) == 0);
  require(entry.kind != EntryKind::link || (!entry.target.empty() && entry.child == Digest{}));
}

Bytes encode_again(const StatePart& part) {
  if (const auto* content = std::get_if<ContentPiece>(&part)) return encode_content(content->bytes);
  if (const auto* index = std::get_if<PartIndex>(&part)) {
    return encode_index(index->level, index->children);
  }
  const auto& entries = std::get<FolderListing>(part).entries;
  for (const FolderEntry& entry : entries)
    require_sound(entry);
  for (std::size_t i = 1; i < entries.size(); ++i)
    require(entries[i - 1].name < entries[i].name);
  return encode_listing(entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, data + size);
  if (const auto part = decode_state_part(bytes)) require(encode_again(*part) == bytes);
  return 0;
}

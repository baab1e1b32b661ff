#include "pbft/services/state/state_parts.hpp"

#include <utility>

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::pbft {

namespace {

enum class PartType : std::uint8_t { content = 1, index = 2, listing = 3 };

static_assert(2 + 1 + kContentBytesMax <= kPartBytesMax);
static_assert(2 + 2 + kPartChildrenMax * sizeof(Digest) <= kPartBytesMax);
// One entry more than fits into a full listing is still a part.
static_assert(kListingBytesMax + kNameBytesMax + kLinkBytesMax + 64 <= kPartBytesMax);

Bytes begin_payload(PartType type) {
  return {static_cast<std::uint8_t>(type)};
}

bool has_child(const FolderEntry& entry) {
  return entry.kind != EntryKind::link;
}

void write_entry(Writer& writer, const FolderEntry& entry) {
  ASSERT(is_admissible_name(entry.name));
  writer.integer(static_cast<std::uint8_t>(entry.kind));
  writer.integer(static_cast<std::uint8_t>(entry.name.size()));
  writer.raw(as_bytes(entry.name));
  if (entry.kind == EntryKind::link) {
    writer.integer(static_cast<std::uint16_t>(entry.target.size()));
    return writer.raw(as_bytes(entry.target));
  }
  writer.integer(entry.mode);
  if (entry.kind == EntryKind::folder) return;
  writer.integer(entry.size);
  writer.integer(static_cast<std::uint8_t>(entry.modified ? 1 : 0));
  if (entry.modified) writer.integer(*entry.modified);
}

void read_file(Reader& reader, FolderEntry& entry) {
  entry.size = reader.integer<std::uint64_t>();
  const auto has_time = reader.integer<std::uint8_t>();
  if (has_time > 1) reader.fail();
  if (has_time != 1) return;
  entry.modified = reader.integer<std::uint64_t>();
  if (*entry.modified > INT64_MAX) reader.fail();
}

// The child is the caller's.
FolderEntry read_entry(Reader& reader) {
  FolderEntry entry;
  const auto kind = reader.integer<std::uint8_t>();
  if (kind < 1 || kind > 3) {
    reader.fail();
    return entry;
  }
  entry.kind = static_cast<EntryKind>(kind);
  entry.name = as_text(reader.raw(reader.integer<std::uint8_t>()));
  if (!is_admissible_name(entry.name)) reader.fail();
  if (entry.kind == EntryKind::link) {
    entry.target = as_text(reader.raw(reader.integer<std::uint16_t>()));
    if (entry.target.empty() || entry.target.size() > kLinkBytesMax ||
        entry.target.find('\0') != std::string::npos) {
      reader.fail();
    }
    return entry;
  }
  entry.mode = reader.integer<std::uint16_t>();
  if ((entry.mode & ~kModeBits) != 0) reader.fail();
  if (entry.kind == EntryKind::file) read_file(reader, entry);
  return entry;
}

std::optional<StatePart> decode_content(const Part& part, ByteView bytes) {
  if (!part.children.empty() || bytes.size() > kContentBytesMax) return std::nullopt;
  return ContentPiece{bytes};
}

std::optional<StatePart> decode_index(Part& part, ByteView bytes) {
  if (part.children.empty() || bytes.size() != 1) return std::nullopt;
  if (bytes[0] < 1 || bytes[0] > kIndexLevelMax) return std::nullopt;
  return PartIndex{bytes[0], std::move(part.children)};
}

std::optional<StatePart> decode_listing(const Part& part, ByteView bytes) {
  Reader reader(bytes);
  FolderListing listing;
  std::size_t children = 0;
  while (reader.remaining() > 0) {
    FolderEntry entry = read_entry(reader);
    if (reader.failed()) return std::nullopt;
    if (!listing.entries.empty() && entry.name <= listing.entries.back().name) return std::nullopt;
    if (has_child(entry)) {
      if (children == part.children.size()) return std::nullopt;
      entry.child = part.children[children++];
    }
    listing.entries.push_back(std::move(entry));
  }
  if (reader.failed() || children != part.children.size()) return std::nullopt;
  return listing;
}

}  // namespace

bool is_admissible_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

Bytes encode_content(ByteView bytes) {
  ASSERT(bytes.size() <= kContentBytesMax);
  Bytes payload = begin_payload(PartType::content);
  payload.insert(payload.end(), bytes.begin(), bytes.end());
  return encode_part({}, payload);
}

Bytes encode_index(std::uint8_t level, std::span<const Digest> children) {
  ASSERT(level >= 1 && level <= kIndexLevelMax && !children.empty());
  Bytes payload = begin_payload(PartType::index);
  payload.push_back(level);
  return encode_part(children, payload);
}

Bytes encode_listing(std::span<const FolderEntry> entries) {
  Bytes payload = begin_payload(PartType::listing);
  Writer writer(payload);
  std::vector<Digest> children;
  for (const FolderEntry& entry : entries) {
    write_entry(writer, entry);
    if (has_child(entry)) children.push_back(entry.child);
  }
  return encode_part(children, payload);
}

std::size_t entry_bytes(const FolderEntry& entry) {
  Bytes bytes;
  Writer writer(bytes);
  write_entry(writer, entry);
  return bytes.size() + (has_child(entry) ? sizeof(Digest) : 0);
}

std::optional<StatePart> decode_state_part(ByteView bytes) {
  auto part = decode_part(bytes);
  if (!part || part->payload.empty()) return std::nullopt;
  const ByteView rest = part->payload.subspan(1);
  switch (static_cast<PartType>(part->payload.front())) {
    case PartType::content:
      return decode_content(*part, rest);
    case PartType::index:
      return decode_index(*part, rest);
    case PartType::listing:
      return decode_listing(*part, rest);
  }
  return std::nullopt;
}

}  // namespace prophecy::pbft

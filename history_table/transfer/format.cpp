#include "history_table/transfer/format.hpp"

#include "base/assert.hpp"
#include "base/codec.hpp"

namespace prophecy::table {

Bytes encode_header(const ExportHeader& header) {
  Bytes bytes;
  Writer writer(bytes);
  writer.raw(kExportMagic);
  writer.integer(kExportFormat);
  writer.integer(header.identity.digest);
  writer.raw(header.identity.key);
  writer.raw(header.identity.groups);
  writer.integer(header.identity.ownership_epoch);
  writer.integer(header.made_at);
  writer.integer(header.identity.group_count);
  writer.integer(header.floor_slots);
  ASSERT(bytes.size() == kExportHeaderBytes);
  return bytes;
}

void append(Bytes& out, const StoredEntry& entry) {
  Writer writer(out);
  writer.integer(entry.tag.fingerprint);
  writer.integer(entry.tag.middle);
  writer.integer(entry.tag.rest);
  writer.raw(entry.answer);
  writer.integer(entry.state);
}

StoredEntry decode_entry(ByteView bytes) {
  Reader reader(bytes);
  StoredEntry entry;
  entry.tag.fingerprint = reader.integer<std::uint32_t>();
  entry.tag.middle = reader.integer<std::uint16_t>();
  entry.tag.rest = reader.integer<std::uint32_t>();
  reader.fixed(entry.answer);
  entry.state = reader.integer<std::uint64_t>();
  ASSERT(reader.complete());
  return entry;
}

void append(Bytes& out, const StoredFloor& floor) {
  Writer writer(out);
  writer.integer(floor.group);
  writer.integer(floor.slot);
  writer.integer(floor.sigma);
}

StoredFloor decode_floor(ByteView bytes) {
  Reader reader(bytes);
  StoredFloor floor;
  floor.group = reader.integer<std::uint32_t>();
  floor.slot = reader.integer<std::uint32_t>();
  floor.sigma = reader.integer<std::uint64_t>();
  ASSERT(reader.complete());
  return floor;
}

}  // namespace prophecy::table

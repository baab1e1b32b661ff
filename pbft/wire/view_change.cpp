#include "pbft/wire/view_change.hpp"

#include <memory>
#include <utility>

#include "base/assert.hpp"
#include "pbft/wire/header_codec.hpp"

namespace prophecy::pbft {
namespace {

void write_records(Writer& writer, const std::vector<BatchRecord>& records) {
  writer.integer(static_cast<std::uint32_t>(records.size()));
  for (const BatchRecord& record : records) {
    writer.integer(record.sequence);
    writer.integer(record.view);
    writer.raw(record.batch);
  }
}

std::vector<BatchRecord> read_records(Reader& reader, std::size_t count_max) {
  const std::uint32_t count = reader.integer<std::uint32_t>();
  if (count > count_max || count > reader.remaining() / kBatchRecordSize) {
    reader.fail();
    return {};
  }
  std::vector<BatchRecord> records(count);
  for (BatchRecord& record : records) {
    record.sequence = reader.integer<std::uint64_t>();
    record.view = reader.integer<std::uint64_t>();
    reader.fixed(record.batch);
  }
  return records;
}

void write_frames(Writer& writer, const std::vector<ByteView>& frames) {
  writer.integer(static_cast<std::uint16_t>(frames.size()));
  for (const ByteView frame : frames)
    writer.sized(frame);
}

std::vector<ByteView> read_frames(Reader& reader, std::uint32_t count_max) {
  const std::uint32_t count = reader.integer<std::uint16_t>();
  if (count > count_max) {
    reader.fail();
    return {};
  }
  std::vector<ByteView> frames;
  frames.reserve(count);
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i)
    frames.push_back(reader.sized(kFrameBytesMax));
  return frames;
}

// In order, behind the stable checkpoint, no further than any correct replica's log reaches, and
// of views before the one that is asked for.
bool are_plausible(const ViewChangeMessage& message, const std::vector<BatchRecord>& records,
                   std::size_t per_number_max) {
  std::uint64_t previous = message.stable;
  std::size_t of_number = per_number_max;  // the number itself is stable: none allowed
  for (const BatchRecord& record : records) {
    if (record.sequence < previous || record.sequence - message.stable > kWindowMax ||
        record.view >= message.view) {
      return false;
    }
    of_number = record.sequence == previous ? of_number + 1 : 1;
    if (of_number > per_number_max) return false;
    previous = record.sequence;
  }
  return true;
}

}  // namespace

Frame encode_view_change(const ViewChangeMessage& message, const KeyRing& keys) {
  ASSERT(message.prepared.size() <= kWindowMax);
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::view_change, keys.self());
  writer.integer(message.incarnation);
  writer.integer(message.view);
  writer.integer(message.stable);
  write_frames(writer, message.certificate);
  write_records(writer, message.prepared);
  write_records(writer, message.pre_prepared);
  return sign(std::move(bytes), keys);
}

Frame encode_new_view(std::uint64_t view, const std::vector<ByteView>& view_changes,
                      const KeyRing& keys) {
  Bytes bytes;
  Writer writer(bytes);
  write_header(writer, MessageType::new_view, keys.self());
  writer.integer(view);
  write_frames(writer, view_changes);
  return sign(std::move(bytes), keys);
}

std::optional<ViewChangeMessage> decode_view_change(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  ViewChangeMessage message;
  message.replica = read_header(reader, MessageType::view_change);
  message.incarnation = reader.integer<std::uint64_t>();
  message.view = reader.integer<std::uint64_t>();
  message.stable = reader.integer<std::uint64_t>();
  message.certificate = read_frames(reader, replicas);
  message.prepared = read_records(reader, kWindowMax);
  message.pre_prepared = read_records(reader, kWindowMax * kProposalsPerNumber);
  message.content = consumed(frame, reader);
  message.signature = reader.raw(kSignatureSize);
  if (!reader.complete() || message.view == 0 || message.view > kViewMax ||
      message.stable > kSequenceMax || message.certificate.empty() != (message.stable == 0)) {
    return std::nullopt;
  }
  if (!are_plausible(message, message.prepared, 1) ||
      !are_plausible(message, message.pre_prepared, kProposalsMax)) {
    return std::nullopt;
  }
  return message;
}

std::optional<NewViewMessage> decode_new_view(ByteView frame, std::uint32_t replicas) {
  Reader reader(frame);
  NewViewMessage message;
  message.primary = read_header(reader, MessageType::new_view);
  message.view = reader.integer<std::uint64_t>();
  message.view_changes = read_frames(reader, replicas);
  message.content = consumed(frame, reader);
  message.signature = reader.raw(kSignatureSize);
  if (!reader.complete() || message.view == 0 || message.view > kViewMax) return std::nullopt;
  return message;
}

}  // namespace prophecy::pbft

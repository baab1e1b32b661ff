#include "dht/wire/hand_over_frames.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "history_table/write_floors.hpp"

namespace prophecy::dht {
namespace {

constexpr std::uint8_t kAsk = 1;
constexpr std::uint8_t kPage = 2;
constexpr std::uint8_t kReportAsk = 3;
constexpr std::uint8_t kReportPart = 4;
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kPageHeadBytes = 1 + 1 + 2 + 8 + 1 + 8 + 8 + 2 + 2;
constexpr std::size_t kFloorBytes = 4 + 8 + 1;
constexpr std::size_t kEntryBytes = 10 + 20 + 8 + 1;
constexpr std::uint8_t kSlotBitsMax = std::countr_zero(WriteFloors::kSlotsMax);
static_assert(kPageHeadBytes + kHandedFloorsMax * kFloorBytes + kHandedEntriesMax * kEntryBytes <=
              kHandOverFrameMax);
static_assert(1 + 1 + 8 + 4 + 4 + 4 + kReportPartMax <= kHandOverFrameMax);

template <class Write>
Bytes framed(Write write) {
  Bytes content;
  Writer writer(content);
  write(writer);
  Bytes frame;
  Writer(frame).sized(content);
  return frame;
}

bool read_flag(Reader& in) {
  const auto value = in.integer<std::uint8_t>();
  if (value > 1) in.fail();
  return value == 1;
}

template <class Enum>
Enum read_enum(Reader& in, Enum last) {
  const auto value = in.integer<std::uint8_t>();
  if (value > static_cast<std::uint8_t>(last)) in.fail();
  return static_cast<Enum>(value);
}

Partition read_partition(Reader& in) {
  const auto partition = in.integer<std::uint16_t>();
  if (partition >= kPartitions) in.fail();
  return partition;
}

std::size_t read_count(Reader& in, std::size_t most, std::size_t bytes_of_each) {
  const std::size_t count = in.integer<std::uint16_t>();
  if (count <= most && count * bytes_of_each <= in.remaining()) return count;
  in.fail();
  return 0;
}

HandOverAsk read_ask(Reader& in) {
  HandOverAsk ask;
  ask.view = in.integer<std::uint64_t>();
  ask.gained = in.integer<std::uint64_t>();
  ask.partition = read_partition(in);
  ask.token = in.integer<std::uint64_t>();
  ask.phase = read_enum(in, HandOverPhase::entries);
  ask.cursor = in.integer<std::uint64_t>();
  ask.is_done = read_flag(in);
  return ask;
}

HandedFloor read_floor(Reader& in) {
  HandedFloor floor;
  floor.slot = in.integer<std::uint32_t>();
  floor.floor = in.integer<std::uint64_t>();
  floor.slot_bits = in.integer<std::uint8_t>();
  const bool is_possible = floor.slot_bits <= kSlotBitsMax &&
                           floor.slot < std::uint64_t{1} << floor.slot_bits &&
                           floor.floor <= kSigmaMax;
  if (!is_possible) in.fail();
  return floor;
}

HandedEntry read_entry(Reader& in) {
  HandedEntry entry;
  in.fixed(entry.tag);
  in.fixed(entry.answer);
  entry.number = in.integer<std::uint64_t>();
  if (entry.number > kSigmaMax) in.fail();
  entry.is_limited = read_flag(in);
  return entry;
}

HandOverPage read_page(Reader& in) {
  HandOverPage page;
  page.status = read_enum(in, HandOverPage::Status::nothing);
  page.partition = read_partition(in);
  page.token = in.integer<std::uint64_t>();
  page.phase = read_enum(in, HandOverPhase::entries);
  page.cursor = in.integer<std::uint64_t>();
  page.next = in.integer<std::uint64_t>();
  const std::size_t floors = read_count(in, kHandedFloorsMax, kFloorBytes);
  for (std::size_t i = 0; i < floors; ++i)
    page.floors.push_back(read_floor(in));
  const std::size_t entries = read_count(in, kHandedEntriesMax, kEntryBytes);
  for (std::size_t i = 0; i < entries; ++i)
    page.entries.push_back(read_entry(in));
  return page;
}

bool is_report_part(const ReportPart& part) {
  if (part.status != ReportPart::Status::part)
    return part.offset == 0 && part.total == 0 && part.bytes.empty();
  return !part.bytes.empty() && part.total <= kReportBytesMax && part.offset <= part.total &&
         part.bytes.size() == std::min<std::size_t>(kReportPartMax, part.total - part.offset);
}

ReportAsk read_report_ask(Reader& in) {
  ReportAsk ask;
  ask.token = in.integer<std::uint64_t>();
  ask.kind = read_enum(in, ReportKind::metrics);
  ask.offset = in.integer<std::uint32_t>();
  return ask;
}

ReportPart read_report_part(Reader& in) {
  ReportPart part;
  part.status = read_enum(in, ReportPart::Status::busy);
  part.token = in.integer<std::uint64_t>();
  part.offset = in.integer<std::uint32_t>();
  part.total = in.integer<std::uint32_t>();
  part.bytes = as_text(in.sized(kReportPartMax));
  if (!is_report_part(part)) in.fail();
  return part;
}

}  // namespace

Bytes encode_frame(const HandOverAsk& ask) {
  ASSERT(ask.partition < kPartitions);
  return framed([&](Writer& out) {
    out.integer(kAsk);
    out.integer(ask.view);
    out.integer(ask.gained);
    out.integer(ask.partition);
    out.integer(ask.token);
    out.integer(static_cast<std::uint8_t>(ask.phase));
    out.integer(ask.cursor);
    out.integer(static_cast<std::uint8_t>(ask.is_done));
  });
}

Bytes encode_frame(const HandOverPage& page) {
  ASSERT(page.partition < kPartitions);
  ASSERT(page.floors.size() <= kHandedFloorsMax && page.entries.size() <= kHandedEntriesMax);
  return framed([&](Writer& out) {
    out.integer(kPage);
    out.integer(static_cast<std::uint8_t>(page.status));
    out.integer(page.partition);
    out.integer(page.token);
    out.integer(static_cast<std::uint8_t>(page.phase));
    out.integer(page.cursor);
    out.integer(page.next);
    out.integer(static_cast<std::uint16_t>(page.floors.size()));
    for (const HandedFloor& floor : page.floors) {
      out.integer(floor.slot);
      out.integer(floor.floor);
      out.integer(floor.slot_bits);
    }
    out.integer(static_cast<std::uint16_t>(page.entries.size()));
    for (const HandedEntry& entry : page.entries) {
      out.raw(entry.tag);
      out.raw(entry.answer);
      out.integer(entry.number);
      out.integer(static_cast<std::uint8_t>(entry.is_limited));
    }
  });
}

Bytes encode_frame(const ReportAsk& ask) {
  return framed([&](Writer& out) {
    out.integer(kReportAsk);
    out.integer(ask.token);
    out.integer(static_cast<std::uint8_t>(ask.kind));
    out.integer(ask.offset);
  });
}

Bytes encode_frame(const ReportPart& part) {
  ASSERT(is_report_part(part));
  return framed([&](Writer& out) {
    out.integer(kReportPart);
    out.integer(static_cast<std::uint8_t>(part.status));
    out.integer(part.token);
    out.integer(part.offset);
    out.integer(part.total);
    out.sized(as_bytes(part.bytes));
  });
}

std::optional<HandOverMessage> decode_frame(ByteView frame) {
  Reader in(frame);
  std::optional<HandOverMessage> message;
  switch (in.integer<std::uint8_t>()) {
    case kAsk:
      message = read_ask(in);
      break;
    case kPage:
      message = read_page(in);
      break;
    case kReportAsk:
      message = read_report_ask(in);
      break;
    case kReportPart:
      message = read_report_part(in);
      break;
    default:
      return std::nullopt;
  }
  return in.complete() ? std::move(message) : std::nullopt;
}

bool HandOverReader::feed(ByteView bytes) {
  // A frame's worth at a time: what is held is bounded, however much comes at once.
  while (!bytes.empty()) {
    const ByteView part = bytes.first(std::min(bytes.size(), kHandOverFrameMax));
    bytes = bytes.subspan(part.size());
    held_.insert(held_.end(), part.begin(), part.end());
    if (!read_frame()) return false;
  }
  return true;
}

bool HandOverReader::read_frame() {
  std::size_t begin = 0;
  bool is_right = true;
  while (is_right && held_.size() - begin >= kLengthBytes) {
    const ByteView rest = ByteView(held_).subspan(begin);
    const std::size_t size = Reader(rest).integer<std::uint32_t>();
    if (size > kHandOverFrameMax) return false;
    if (rest.size() - kLengthBytes < size) break;
    auto message = decode_frame(rest.subspan(kLengthBytes, size));
    is_right = message.has_value();
    if (is_right) messages_.push_back(std::move(*message));
    begin += kLengthBytes + size;
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(begin));
  return is_right;
}

std::optional<HandOverMessage> HandOverReader::take() {
  if (messages_.empty()) return std::nullopt;
  HandOverMessage message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace prophecy::dht

#include "dht/wire/hand_over_frames.hpp"

#include <catch2/catch.hpp>

#include "history_table/history_entry.hpp"

using namespace prophecy;
using namespace prophecy::dht;

namespace {

HandOverAsk example_ask() {
  return {.view = 17,
          .gained = 16,
          .partition = kPartitions - 1,
          .token = 0x1122334455667788,
          .phase = HandOverPhase::entries,
          .cursor = 99,
          .is_done = true};
}

HandOverPage example_page() {
  HandOverPage page{.status = HandOverPage::Status::page,
                    .partition = 42,
                    .token = 7,
                    .phase = HandOverPhase::floors,
                    .cursor = 3,
                    .next = 8};
  page.floors = {{.slot = 42, .floor = 1000, .slot_bits = 12},
                 {.slot = 42 + 4096, .floor = kSigmaMax, .slot_bits = 13}};
  page.entries.resize(2);
  page.entries[0].tag.fill(0xab);
  page.entries[1].answer.fill(0xcd);
  page.entries[1].number = 5;
  page.entries[1].is_limited = true;
  return page;
}

ReportAsk example_report_ask() {
  return {.token = 0x1122334455667788, .kind = ReportKind::metrics, .offset = 70};
}

ReportPart example_part() {
  return {.token = 9, .offset = 70, .total = 75, .bytes = "a 1\nb"};
}

Bytes content(const Bytes& frame) {
  return {frame.begin() + 4, frame.end()};
}

}  // namespace

TEST_CASE("hand-over frames: a message is read as it was written") {
  const auto ask = decode_frame(content(encode_frame(example_ask())));
  REQUIRE(ask.has_value());
  CHECK(encode_frame(std::get<HandOverAsk>(*ask)) == encode_frame(example_ask()));
  CHECK(std::get<HandOverAsk>(*ask).partition == kPartitions - 1);
  CHECK(std::get<HandOverAsk>(*ask).is_done);
  const auto page = decode_frame(content(encode_frame(example_page())));
  REQUIRE(page.has_value());
  const auto& read = std::get<HandOverPage>(*page);
  CHECK(encode_frame(read) == encode_frame(example_page()));
  CHECK(read.floors.size() == 2);
  CHECK(read.floors[1].slot_bits == 13);
  CHECK(read.entries[1].number == 5);
  CHECK(read.entries[1].is_limited);
}

TEST_CASE("hand-over frames: one that is cut, longer, or has a byte changed is none or another") {
  for (const Bytes& frame : {encode_frame(example_ask()), encode_frame(example_page()),
                             encode_frame(example_report_ask()), encode_frame(example_part())}) {
    const Bytes whole = content(frame);
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK_FALSE(decode_frame(ByteView(whole).first(size)).has_value());
    Bytes longer = whole;
    longer.push_back(0);
    CHECK_FALSE(decode_frame(longer).has_value());
    for (std::size_t i = 0; i < whole.size(); ++i) {
      for (const std::uint8_t byte : Bytes{0x00, 0x01, 0x02, 0x7f, 0xff}) {
        Bytes changed = whole;
        changed[i] = byte;
        const auto read = decode_frame(changed);
        if (!read) continue;
        const Bytes again = std::visit([](const auto& of) { return encode_frame(of); }, *read);
        CHECK(content(again) == changed);
      }
    }
  }
}

TEST_CASE("hand-over frames: what no table can have is refused") {
  HandOverPage page = example_page();
  SECTION("a sigma that is too great") {
    page.entries[0].number = kSigmaMax + 1;
  }
  SECTION("a floor likewise") {
    page.floors[0].floor = kSigmaMax + 1;
  }
  SECTION("a slot beyond its bits") {
    page.floors[0].slot = 4096;
  }
  SECTION("more bits than a table may have") {
    page.floors[0].slot_bits = 32;
  }
  CHECK_FALSE(decode_frame(content(encode_frame(page))).has_value());
}

TEST_CASE("hand-over frames: the largest page is within the limit") {
  HandOverPage page;
  page.floors.resize(kHandedFloorsMax);
  page.entries.resize(kHandedEntriesMax);
  const Bytes frame = encode_frame(page);
  CHECK(frame.size() <= 4 + kHandOverFrameMax);
  CHECK(decode_frame(content(frame)).has_value());
}

TEST_CASE("hand-over frames: a connection's bytes come in any pieces") {
  Bytes bytes;
  for (int i = 0; i < 3; ++i) {
    for (const Bytes& frame : {encode_frame(example_ask()), encode_frame(example_page())})
      bytes.insert(bytes.end(), frame.begin(), frame.end());
  }
  const std::size_t step = GENERATE(1, 3, 50, 100'000);
  HandOverReader reader;
  std::size_t messages = 0;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const ByteView part = ByteView(bytes).subspan(at, std::min(step, bytes.size() - at));
    REQUIRE(reader.feed(part));
    while (const auto message = reader.take())
      CHECK(std::holds_alternative<HandOverAsk>(*message) == (messages++ % 2 == 0));
  }
  CHECK(messages == 6);
}

TEST_CASE("hand-over frames: a length beyond the limit ends a connection at once") {
  HandOverReader reader;
  Bytes bytes{0x01, 0x00, 0x01, 0x00};  // 64 KiB and one
  CHECK_FALSE(reader.feed(bytes));
  HandOverReader other;
  CHECK_FALSE(other.feed(Bytes{1, 0, 0, 0, 9}));  // no such type
}

TEST_CASE("hand-over frames: reports are asked for, and come, in parts") {
  const auto ask = decode_frame(content(encode_frame(example_report_ask())));
  REQUIRE(ask.has_value());
  CHECK(std::get<ReportAsk>(*ask) == example_report_ask());
  ReportPart whole{.token = 1, .total = kReportPartMax, .bytes = std::string(kReportPartMax, 'x')};
  const ReportPart busy{.status = ReportPart::Status::busy, .token = 9};
  for (const ReportPart& part : {example_part(), whole, busy}) {
    const auto read = decode_frame(content(encode_frame(part)));
    REQUIRE(read.has_value());
    CHECK(std::get<ReportPart>(*read) == part);
  }
}

TEST_CASE("hand-over frames: a report's part beyond its report is none") {
  const Bytes frame = content(encode_frame(example_part()));
  // Type, status and token come first: then offset and total.
  Bytes later = frame;
  later[10] = 71;
  CHECK_FALSE(decode_frame(later).has_value());
  Bytes shorter = frame;
  shorter[14] = 74;
  CHECK_FALSE(decode_frame(shorter).has_value());
  // Less than a full part, and not the last one.
  Bytes longer = frame;
  longer[14] = 76;
  CHECK_FALSE(decode_frame(longer).has_value());
  Bytes huge = frame;
  huge[16] = 0xff;
  CHECK_FALSE(decode_frame(huge).has_value());
  // One that is no part has nothing else.
  Bytes busy = frame;
  busy[1] = static_cast<std::uint8_t>(ReportPart::Status::busy);
  CHECK_FALSE(decode_frame(busy).has_value());
}

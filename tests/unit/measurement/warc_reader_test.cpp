#include "measurement/input/warc_reader.hpp"

#include <catch2/catch.hpp>

#include "warc_text.hpp"

namespace prophecy::measurement {
namespace {

struct Told : WarcHandler {
  std::string text;

  bool on_head(const WarcHead& head) override {
    text += "[" + head.type + "@" + std::to_string(head.offset) + ":";
    return head.type != "skipped";
  }
  void on_block(std::string_view piece) override { text.append(piece); }
  void on_end() override { text += "]"; }
  void on_damage(Damage damage) override { text += "!" + std::to_string(damage.offset) + "!"; }
};

std::string told(std::string_view bytes, std::size_t piece) {
  Told handler;
  WarcReader reader(handler);
  for (std::size_t begin = 0; begin < bytes.size(); begin += piece)
    reader.on_bytes(bytes.substr(begin, piece), begin, true);
  reader.finish();
  return handler.text;
}

// The same, however the input is cut.
std::string told(std::string_view bytes) {
  const std::string whole = told(bytes, bytes.size());
  for (const std::size_t piece : {1, 2, 7, 64})
    CHECK(told(bytes, piece) == whole);
  return whole;
}

}  // namespace

TEST_CASE("records are taken apart, wanted or not") {
  const std::string first = warc_record("a", "WARC-Date: x\r\n", "one");
  const std::string skipped = warc_record("skipped", "", "not this");
  const std::string empty = warc_record("c", "", "");
  CHECK(told(first + skipped + empty) == "[a@0:one][skipped@" + std::to_string(first.size()) +
                                             ":[c@" +
                                             std::to_string(first.size() + skipped.size()) + ":]");
}

TEST_CASE("a length that is wrong is damage, and the next whole record is found") {
  std::string wrong = warc_record("a", "", "0123456789");
  const std::string next = warc_record("b", "", "two");
  const std::size_t length = wrong.find("10\r\n");
  std::string longer = wrong;
  longer.replace(length, 2, "12");
  std::string shorter = wrong;
  shorter.replace(length, 2, "07");
  CHECK(told(shorter + next) == "[a@0:0123456!0![b@" + std::to_string(shorter.size()) + ":two]");
  const std::string swallowed = told(longer + next + next);
  CHECK(swallowed.find("!0!") != std::string::npos);
  CHECK(swallowed.ends_with("two]"));
}

TEST_CASE("heads that are none are damage") {
  const std::string good = warc_record("b", "", "two");
  CHECK(told("nonsense\r\n" + good).ends_with("!0![b@10:two]"));
  CHECK(told("WARC/1.0\r\nWARC-Type: a\r\n\r\n" + good).starts_with("!0!"));
  CHECK(told("WARC/1.0\r\nContent-Length: x\r\n\r\n" + good).starts_with("!0!"));
  CHECK(told("WARC/1.0\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx" + good)
            .starts_with("!0!"));
  CHECK(told("WARC/1.0\r\n" + std::string(70000, 'x') + "\r\n" + good).ends_with("two]"));
}

TEST_CASE("a file that is cut is damage, but for its last empty lines") {
  const std::string record = warc_record("a", "", "one");
  CHECK(told(record.substr(0, record.size() - 3)) == "[a@0:one]");
  CHECK(told(record.substr(0, record.size() - 5)) == "[a@0:on!0!");
  CHECK(told(record.substr(0, 20)) == "!0!");
  CHECK(told("").empty());
}

TEST_CASE("a gzip member that begins like a record begins one") {
  const std::string whole = warc_record("b", "", "two");
  std::string longer = warc_record("a", "", "one");
  longer.replace(longer.find("3\r\n"), 1, "9");
  Told handler;
  WarcReader reader(handler);
  reader.on_bytes(longer, 0, false);
  for (const char& c : whole)
    reader.on_bytes({&c, 1}, 50, false);
  reader.finish();
  CHECK(handler.text == "[a@0:one\r\n\r\n!0![b@50:two]");
}

TEST_CASE("a gzip member may begin anywhere in a record") {
  const std::string record = warc_record("a", "", "one WAR");
  for (std::size_t cut = 1; cut < record.size(); ++cut) {
    Told handler;
    WarcReader reader(handler);
    reader.on_bytes(std::string_view(record).substr(0, cut), 0, false);
    reader.on_bytes(std::string_view(record).substr(cut), 50, false);
    reader.finish();
    CHECK(handler.text == "[a@0:one WAR]");
  }
}

TEST_CASE("behind a gap reading begins with the next record") {
  Told handler;
  WarcReader reader(handler);
  const std::string record = warc_record("a", "", "one");
  reader.on_bytes(std::string_view(record).substr(0, record.size() - 6), 0, false);
  reader.on_gap({0, "a gap"});
  reader.on_bytes(record, 100, false);
  reader.finish();
  CHECK(handler.text == "[a@0:o!0![a@100:one]");
}

}  // namespace prophecy::measurement

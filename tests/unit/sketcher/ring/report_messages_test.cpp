#include "sketcher/ring/report_messages.hpp"

#include <catch2/catch.hpp>

#include "sketcher/ring/settings_messages.hpp"

namespace prophecy::sketcher {

TEST_CASE("messages about reports are read as they were written") {
  const ReportMessage messages[]{
      {"north", dht::ReportAsk{.token = 7, .kind = dht::ReportKind::metrics, .offset = 3}},
      {"south", dht::ReportPart{.token = 7, .offset = 3, .total = 9, .bytes = "{\"a\":\n"}},
      {"x", dht::ReportPart{.status = dht::ReportPart::Status::busy, .token = 1}},
      {std::string(255, 'n'), ReportLost{}}};
  for (const ReportMessage& message : messages) {
    const std::string text = report_message_text(message);
    CHECK(text.size() <= kReportMessageBytesMax);
    CHECK(is_report_message(text));
    const auto read = parse_report_message(text);
    REQUIRE(read.has_value());
    CHECK(*read == message);
    // One that is cut is none, or says that the member is lost.
    for (std::size_t size = 0; size < text.size(); ++size) {
      const auto cut = parse_report_message(text.substr(0, size));
      CHECK((!cut || *cut == ReportMessage{message.member, ReportLost{}}));
    }
    CHECK_FALSE(parse_report_message(text + "x").has_value());
  }
  const dht::ReportPart whole{.total = dht::kReportPartMax,
                              .bytes = std::string(dht::kReportPartMax, 'x')};
  CHECK(report_message_text({std::string(255, 'n'), whole}).size() <= kReportMessageBytesMax);
}

TEST_CASE("messages about reports are told from others") {
  CHECK_FALSE(is_report_message(""));
  CHECK_FALSE(is_report_message(order_text({})));
  CHECK_FALSE(is_report_message(carried_out_text(1)));
  CHECK_FALSE(parse_report_message("R").has_value());
  CHECK_FALSE(parse_report_message(std::string_view("R\0\0\0\0", 5)).has_value());
}

}  // namespace prophecy::sketcher

// What the master and the ring's process say to each other of members' reports (dht/wire): the
// message, and the other member that it is for, or from. As bytes that no JSON begins with.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "dht/wire/member_reports.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kReportMessageBytesMax = 2 * dht::kReportPartMax;

// The member cannot be reached, or the connection to it has ended: what it was asked for is lost.
struct ReportLost {
  bool operator==(const ReportLost&) const = default;
};

struct ReportMessage {
  std::string member;
  std::variant<dht::ReportAsk, dht::ReportPart, ReportLost> content;

  bool operator==(const ReportMessage&) const = default;
};

// Requires a member's name, and a part as dht::ReportPart has it.
[[nodiscard]] std::string report_message_text(const ReportMessage& message);
[[nodiscard]] bool is_report_message(std::string_view text);
// Nothing: it is none.
[[nodiscard]] std::optional<ReportMessage> parse_report_message(std::string_view text);

}  // namespace prophecy::sketcher

// `ReportAsk` and `ReportPart` carry a member's report for operators (its status, or its page of
// metrics) to another member, part by part: each part is asked for, so that neither side holds more
// of it than it wants. Plain values; hand_over_frames.hpp has them as bytes.
#pragma once

#include <cstdint>
#include <string>

namespace prophecy::dht {

enum class ReportKind : std::uint8_t { status, metrics };

constexpr std::size_t kReportBytesMax = 1 << 20;
constexpr std::size_t kReportPartMax = 32 << 10;

struct ReportAsk {
  std::uint64_t token = 0;  // of one report: all its parts are of one instant
  ReportKind kind = ReportKind::status;
  std::uint32_t offset = 0;  // where the part begins

  bool operator==(const ReportAsk&) const = default;
};

struct ReportPart {
  enum class Status : std::uint8_t {
    part,
    too_large,  // the report exceeds kReportBytesMax
    busy,       // the member holds no more reports at present, or has let this one go
  };

  Status status = Status::part;
  std::uint64_t token = 0;
  // A part has kReportPartMax bytes, or the rest up to `total`, and at least one: so a report comes
  // in few parts. Other answers have none of these three.
  std::uint32_t offset = 0;
  std::uint32_t total = 0;  // bytes of the report
  std::string bytes = {};

  bool operator==(const ReportPart&) const = default;
};

}  // namespace prophecy::dht

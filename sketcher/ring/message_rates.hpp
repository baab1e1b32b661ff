// `MessageRates` bounds how many messages about reports each other member may send to the master
// (report_messages.hpp): so many at once, then so many a second. A member asks for the parts of a
// report one after the other, and asks again for one that is lost; beyond that it only causes work.
//
// An ask for the beginning of a report costs more: the master may have to make the report.
//
// Deterministic; not thread-safe. Time never goes back from call to call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "dht/core/boot_time.hpp"
#include "dht/core/view.hpp"
#include "dht/wire/member_reports.hpp"

namespace prophecy::sketcher {

class MessageRates {
 public:
  static constexpr std::uint32_t kPerSecond = 200;
  static constexpr std::uint32_t kAtOnce = 256;
  static constexpr std::uint32_t kBeginCost = 16;
  // Members of the newest view, and of the one before.
  static constexpr std::size_t kNamesMax = 2 * dht::kMembersMax;
  // Four operators at one member may ask for reports of the largest size at once.
  static_assert(4 * (kBeginCost + dht::kReportBytesMax / dht::kReportPartMax) <= kAtOnce);

  [[nodiscard]] static std::uint32_t cost(const dht::ReportAsk& ask) {
    return ask.offset == 0 ? kBeginCost : 1;
  }

  // Whether the member may send a message of that cost now.
  [[nodiscard]] bool take(const std::string& member, std::uint32_t cost, dht::BootTime now) {
    if (paid_until_.size() >= kNamesMax && !paid_until_.contains(member)) {
      std::erase_if(paid_until_, [now](const auto& each) { return each.second <= now; });
      if (paid_until_.size() >= kNamesMax) return false;
    }
    dht::BootTime& paid_until = paid_until_[member];
    const dht::BootTime next = std::max(paid_until, now) + cost * kInterval;
    if (next - now > kAtOnce * kInterval) return false;
    paid_until = next;
    return true;
  }

 private:
  static constexpr dht::Span kInterval = dht::Span(std::chrono::seconds(1)) / kPerSecond;

  // By member: when all that it has sent is paid for by the time that has passed.
  std::map<std::string, dht::BootTime> paid_until_;
};

}  // namespace prophecy::sketcher

#include "sketcher/ring/message_rates.hpp"

#include <catch2/catch.hpp>

namespace prophecy::sketcher {
namespace {

using dht::BootTime;
using std::chrono::milliseconds;
using std::chrono::seconds;

// As many as the member may send now.
std::uint32_t sent_at_once(MessageRates& rates, const std::string& member, std::uint32_t cost,
                           BootTime now) {
  std::uint32_t sent = 0;
  while (sent < 10'000 && rates.take(member, cost, now))
    ++sent;
  return sent;
}

}  // namespace

TEST_CASE("rates of members' messages: so many at once, then so many a second") {
  MessageRates rates;
  BootTime now{seconds(1000)};
  CHECK(sent_at_once(rates, "a", 1, now) == MessageRates::kAtOnce);
  now += milliseconds(500);
  CHECK(sent_at_once(rates, "a", 1, now) == MessageRates::kPerSecond / 2);
  // Another member's are its own.
  CHECK(sent_at_once(rates, "b", 1, now) == MessageRates::kAtOnce);
  now += seconds(10);
  CHECK(sent_at_once(rates, "a", 1, now) == MessageRates::kAtOnce);
}

TEST_CASE("rates of members' messages: the same ask without end brings few answers") {
  MessageRates rates;
  const BootTime begin{seconds(1000)};
  const dht::ReportAsk ask{.token = 7, .offset = 0};
  std::uint32_t taken = 0;
  for (int sent = 0; sent < 100'000; ++sent)
    taken += rates.take("a", MessageRates::cost(ask), begin + milliseconds(sent / 10)) ? 1 : 0;
  const std::uint32_t least = 10 * MessageRates::kPerSecond / MessageRates::kBeginCost;
  CHECK(taken >= least);
  CHECK(taken <= least + MessageRates::kAtOnce / MessageRates::kBeginCost);
}

TEST_CASE("rates of members' messages: a report of the largest size is fetched at once") {
  MessageRates rates;
  const BootTime now{seconds(1000)};
  for (std::uint32_t offset = 0; offset < dht::kReportBytesMax; offset += dht::kReportPartMax)
    CHECK(rates.take("a", MessageRates::cost({.token = 1, .offset = offset}), now));
}

TEST_CASE("rates of members' messages: what is kept is bounded, and names are forgotten") {
  MessageRates rates;
  BootTime now{seconds(1000)};
  for (std::size_t i = 0; i < MessageRates::kNamesMax; ++i)
    CHECK(rates.take("member " + std::to_string(i), 1, now));
  CHECK_FALSE(rates.take("another", 1, now));
  CHECK(rates.take("member 0", 1, now));
  now += seconds(1);
  CHECK(rates.take("another", 1, now));
}

}  // namespace prophecy::sketcher

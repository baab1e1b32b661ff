#include "sketcher/health/evidence.hpp"

#include <catch2/catch.hpp>

#include "sketcher/health/check_report.hpp"

namespace prophecy::sketcher {
namespace {

using http::ExchangeEnd;
using replica_client::OriginEvidence;

std::uint64_t& fast(OriginTotals& totals, ExchangeEnd end) {
  return totals.exchanges[static_cast<std::size_t>(end)];
}
std::uint64_t& votes(OriginTotals& totals, ExchangeEnd end) {
  return totals.votes[static_cast<std::size_t>(end)];
}

}  // namespace

TEST_CASE("Evidence is what has been counted since it was read last") {
  EvidenceReader reader;
  OriginTotals totals;
  CHECK(reader.read(totals) == OriginEvidence{});
  fast(totals, ExchangeEnd::answered) = 10;
  votes(totals, ExchangeEnd::answered) = 5;
  fast(totals, ExchangeEnd::timed_out) = 2;
  votes(totals, ExchangeEnd::not_sent) = 1;
  totals.divergences = 3;
  CHECK(reader.read(totals) == OriginEvidence{.good = 15,
                                              .bad = 3,
                                              .unreached = 1,
                                              .disputes = 3,
                                              .reads = 12,
                                              .slow = 2,
                                              .detail = "timed-out"});
  CHECK(reader.read(totals) == OriginEvidence{});
  fast(totals, ExchangeEnd::answered) += 1;
  CHECK(reader.read(totals) == OriginEvidence{.good = 1, .bad = 0, .disputes = 0, .reads = 1});
}

TEST_CASE(
    "A read is slow that took long, or ran into its time-out; one that was overtaken counts") {
  EvidenceReader reader;
  OriginTotals totals;
  fast(totals, ExchangeEnd::answered) = 10;
  fast(totals, ExchangeEnd::timed_out) = 2;
  totals.slow = 3;
  totals.overtaken = 4;
  const OriginEvidence evidence = reader.read(totals);
  CHECK(evidence.reads == 16);
  CHECK(evidence.slow == 5);
  // Being overtaken alone says nothing: it took no longer than somebody else.
  CHECK(evidence.bad == 2);
}

TEST_CASE("Our own limits are not held against an origin") {
  EvidenceReader reader;
  OriginTotals totals;
  fast(totals, ExchangeEnd::overloaded) = 100;
  fast(totals, ExchangeEnd::too_large) = 100;
  CHECK(reader.read(totals) == OriginEvidence{});
}

TEST_CASE("An error that the others do not have is a failure, neither a success nor a lie") {
  EvidenceReader reader;
  OriginTotals totals;
  fast(totals, ExchangeEnd::answered) = 10;
  totals.error_answers = 4;
  CHECK(reader.read(totals) ==
        OriginEvidence{.good = 6, .bad = 4, .disputes = 0, .reads = 10, .detail = "error-answers"});
}

TEST_CASE("Most of what failed since the last reading says as what") {
  EvidenceReader reader;
  OriginTotals totals;
  fast(totals, ExchangeEnd::timed_out) = 50;
  CHECK(reader.read(totals).detail == "timed-out");
  fast(totals, ExchangeEnd::timed_out) += 1;
  fast(totals, ExchangeEnd::expired) = 1;
  votes(totals, ExchangeEnd::expired) = 2;
  const OriginEvidence evidence = reader.read(totals);
  CHECK(evidence.bad == 4);
  CHECK(evidence.detail == "expired-certificate");
  CHECK(reader.read(totals).detail.empty());
}

TEST_CASE("Between two steps of a worker's counting nothing is counted twice, or lost") {
  EvidenceReader reader;
  OriginTotals totals;
  OriginEvidence sum;
  const auto take = [&] {
    const OriginEvidence read = reader.read(totals);
    sum.good += read.good;
    sum.bad += read.bad;
    sum.disputes += read.disputes;
  };
  for (int i = 0; i < 100; ++i) {
    fast(totals, ExchangeEnd::answered) += 1;
    take();
    totals.error_answers += 1;
    take();
    totals.divergences += 1;
    take();
  }
  // At most the one that is under way.
  CHECK(sum.good <= 1);
  CHECK(sum.disputes == 100);
  CHECK(sum.bad == 100);
}

TEST_CASE("A checker's message is taken for one only if it can be") {
  const auto bytes_of = [](const CheckReport& report) {
    return std::string(reinterpret_cast<const char*>(&report), sizeof report);
  };
  const std::string good = bytes_of({.group = 1, .replica = 2, .outcome = 3, .status = 0});
  const auto parsed = parse_check_report(good);
  REQUIRE(parsed.has_value());
  CHECK(parsed->replica == 2);
  CHECK_FALSE(parse_check_report("").has_value());
  CHECK_FALSE(parse_check_report(good + "x").has_value());
  CHECK_FALSE(parse_check_report(good.substr(1)).has_value());
  CHECK_FALSE(
      parse_check_report(bytes_of({1, 2, replica_client::kCheckOutcomeCount, 0})).has_value());
}

}  // namespace prophecy::sketcher

#include "sketcher/health/evidence.hpp"

#include <utility>

namespace prophecy::sketcher {

using http::ExchangeEnd;
using replica_client::OriginEvidence;

namespace {

std::uint64_t advance(std::uint64_t& before, std::uint64_t now) {
  return now > before ? now - std::exchange(before, now) : 0;
}

}  // namespace

OriginEvidence EvidenceReader::read(const OriginTotals& totals) {
  const auto ended = [&](ExchangeEnd end) {
    const auto index = static_cast<std::size_t>(end);
    return totals.exchanges[index] + totals.votes[index];
  };
  OriginEvidence now;
  std::string_view detail;
  std::uint64_t most = 0;
  const auto note = [&](std::string_view kind, std::uint64_t increase) {
    if (increase <= most) return;
    most = increase;
    detail = kind;
  };
  for (std::size_t i = 0; i < kFailures.size(); ++i) {
    const std::uint64_t count = ended(kFailures[i]);
    now.bad += count;
    note(to_string(kFailures[i]), advance(failures_before_[i], count));
  }
  // An error that the others do not have is trouble, not a lie.
  now.bad += totals.server_errors;
  note("server-errors", advance(errors_before_, totals.server_errors));
  const auto without_errors = [&](std::uint64_t count) {
    return count > totals.server_errors ? count - totals.server_errors : 0;
  };
  now.good = without_errors(ended(ExchangeEnd::answered));
  now.disputes = without_errors(totals.divergences);
  return {.good = advance(before_.good, now.good),
          .bad = advance(before_.bad, now.bad),
          .disputes = advance(before_.disputes, now.disputes),
          .vindicated = advance(before_.vindicated, totals.vindications),
          .detail = detail};
}

}  // namespace prophecy::sketcher

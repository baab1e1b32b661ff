#include "sketcher/health/evidence.hpp"

#include <initializer_list>
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
  // Neither a queue of ours that is full nor a limit of ours speaks against the origin.
  for (const ExchangeEnd end : {ExchangeEnd::not_sent, ExchangeEnd::stale, ExchangeEnd::broken,
                                ExchangeEnd::timed_out, ExchangeEnd::malformed}) {
    now.bad += ended(end);
  }
  // An error that the others do not have is trouble, not a lie.
  now.bad += totals.server_errors;
  const auto without_errors = [&](std::uint64_t count) {
    return count > totals.server_errors ? count - totals.server_errors : 0;
  };
  now.good = without_errors(ended(ExchangeEnd::answered));
  now.disputes = without_errors(totals.divergences);
  return {.good = advance(before_.good, now.good),
          .bad = advance(before_.bad, now.bad),
          .disputes = advance(before_.disputes, now.disputes)};
}

}  // namespace prophecy::sketcher

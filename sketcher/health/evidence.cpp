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
    if (http::is_unsent(kFailures[i])) now.unreached += count;
    note(to_string(kFailures[i]), advance(failures_before_[i], count));
  }
  // An error that the others do not have is trouble, not a lie.
  now.bad += totals.error_answers;
  note("error-answers", advance(errors_before_, totals.error_answers));
  const auto without_errors = [&](std::uint64_t count) {
    return count > totals.error_answers ? count - totals.error_answers : 0;
  };
  now.good = without_errors(ended(ExchangeEnd::answered));
  now.disputes = totals.divergences;
  const auto fast = [&](ExchangeEnd end) {
    return totals.exchanges[static_cast<std::size_t>(end)];
  };
  now.slow = totals.slow + fast(ExchangeEnd::timed_out);
  now.reads = fast(ExchangeEnd::answered) + fast(ExchangeEnd::timed_out) + totals.overtaken;
  return {.good = advance(before_.good, now.good),
          .bad = advance(before_.bad, now.bad),
          .unreached = advance(before_.unreached, now.unreached),
          .disputes = advance(before_.disputes, now.disputes),
          .reads = advance(before_.reads, now.reads),
          .slow = advance(before_.slow, now.slow),
          .vindicated = advance(before_.vindicated, totals.vindications),
          .detail = detail};
}

}  // namespace prophecy::sketcher

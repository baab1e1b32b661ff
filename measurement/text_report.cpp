#include "measurement/text_report.hpp"

#include <fmt/format.h>

#include "measurement/totals.hpp"

namespace prophecy::measurement {

void write_text(const MeasurementResult& result, const Figures& figures, std::ostream& out) {
  const Totals totals = totals_of(result);
  const auto of = [&](AnswerKind kind) { return totals.by_kind[static_cast<std::size_t>(kind)]; };
  out << fmt::format(
      "{} URLs, {} answers, {} transitions in {} pairs of sketched answers: {:.1f} %\n",
      totals.urls, totals.answers, totals.sketched.transitions, totals.sketched.pairs,
      100 * totals.sketched.ratio());
  const auto never = of(AnswerKind::transient) + of(AnswerKind::sets_cookie) +
                     of(AnswerKind::varies) + of(AnswerKind::for_one_client);
  if (never > 0) {
    out << fmt::format(
        "never sketched: {} answers ({} by status, {} with Set-Cookie, {} by Vary, {} for one"
        " client by a sketcher's log)\n",
        never, of(AnswerKind::transient), of(AnswerKind::sets_cookie), of(AnswerKind::varies),
        of(AnswerKind::for_one_client));
  }
  if (of(AnswerKind::weak) > 0) {
    out << fmt::format("weak: {} answers without a body, {} of {} pairs differ ({:.1f} %)\n",
                       of(AnswerKind::weak), totals.weak.transitions, totals.weak.pairs,
                       100 * totals.weak.ratio());
  }
  out << fmt::format("URLs with at least {} requests: {}\n", figures.minimum,
                     figures.urls_at_minimum);
  for (const PaperNumber& number : figures.beside_the_paper) {
    out << fmt::format("  {:<50} {:5.1f} %  (paper: {:.0f} %)\n", number.claim, 100 * number.here,
                       100 * number.paper);
  }
  const CostModel& cost = figures.cost;
  out << fmt::format("a read costs {:.0f} with a sketcher, {:.0f} replicated\n",
                     cost.prophecy(totals.sketched.ratio()), cost.replicated());
  for (const PartyFigures& party : figures.figure_15) {
    out << fmt::format("{} party: {} URLs, {:.1f} % transitions\n", party.party, party.urls,
                       100 * party.pairs.ratio());
  }
  if (totals.damage > 0) out << fmt::format("damage: {} records left out\n", totals.damage);
}

}  // namespace prophecy::measurement

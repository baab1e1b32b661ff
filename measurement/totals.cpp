#include "measurement/totals.hpp"

namespace prophecy::measurement {
Totals totals_of(const MeasurementResult& result) {
  Totals totals;
  totals.urls = result.figures.size();
  for (const UrlFigures& figures : result.figures) {
    totals.answers += figures.all_answers();
    totals.body_bytes += figures.body_bytes;
    for (std::size_t kind = 0; kind < kAnswerKinds; ++kind)
      totals.by_kind[kind] += figures.answers[kind];
    totals.sketched += figures.sketched;
    totals.strong += figures.strong;
    totals.weak += figures.weak;
    if (figures.sketched.pairs > 0 && figures.sketched.transitions == 0) ++totals.static_urls;
  }
  for (const InputFigures& input : result.inputs)
    totals.damage += input.damage_count;
  return totals;
}

}  // namespace prophecy::measurement

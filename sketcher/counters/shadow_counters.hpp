// What one worker counts of one shadow, in shared memory (sketcher/counters/counters.hpp says how).
#pragma once

#include <array>

#include "base/counter.hpp"
#include "base/metric.hpp"
#include "http/client/origin_exchange.hpp"

namespace prophecy::sketcher {

struct ShadowCounters {
  std::array<Counter, http::kExchangeEndCount> exchanges;  // copies, by ExchangeEnd
  // What its answers were:
  Counter equal;      // to the verified answer, or to what the history held by then
  Counter different;  // while the history held the verified answer all the time
  Counter outdated;   // different, but the history had gone on: nothing can be said
  // Reads that were to be copied and were not: too many are under way, the answer is too large, or
  // the shadow has just failed.
  Counter dropped;
};
inline constexpr Metric kShadowMetric =
    counter_metric("prophecy_shadow_reads_total", "reads", "Reads for a shadow by their result.")
        .by("result");
inline constexpr auto kShadowTable = metric_table<ShadowCounters>(
    "group, shadow, address", "shadows[]",
    {metric_row<&ShadowCounters::equal>(
         "equal", kShadowMetric, "equal",
         "Equal to the verified answer, or to what the history held by then."),
     metric_row<&ShadowCounters::different>(
         "different", kShadowMetric, "different",
         "Different, while the history held the verified answer all the time."),
     metric_row<&ShadowCounters::outdated>("outdated", kShadowMetric, "outdated",
                                           "Different, while the content changed: no evidence."),
     metric_row<&ShadowCounters::dropped>("dropped", kShadowMetric, "dropped",
                                          "Not copied: too many were under way, the answer was too "
                                          "large, or the shadow had just failed.")});
// The status has these as `failures`.
inline constexpr auto kShadowExchangeTable = metric_table<ShadowCounters>(
    "group, shadow, address", "shadows[]",
    {metric_rows_by<&ShadowCounters::exchanges, http::ExchangeEnd>(
        "", counter_metric("prophecy_shadow_exchanges_total", "reads",
                           "Copied reads by how the exchange with the shadow ended.")
                .by("end", "The ends are those of `prophecy_fast_reads_total`."))});

}  // namespace prophecy::sketcher

// Verified answers that clients got in a content coding.
#pragma once

#include "base/counter.hpp"
#include "base/metric.hpp"

namespace prophecy::sketcher {

struct CompressionCounters {
  Counter delivered;    // in a coding
  Counter encoded;      // of these, those for which a body was coded
  Counter not_smaller;  // bodies that no coding makes smaller: found, and not tried again for long
  Counter over_budget;  // answers that went as they were, since the processor time was used up
  Counter held_bytes;   // a gauge
};
inline constexpr Metric kCompressionMetric =
    counter_metric("prophecy_compression_total", "answers",
                   "Answers that were to have a content coding, by what came of it.")
        .by("outcome");
inline constexpr auto kCompressionTable = metric_table<CompressionCounters>(
    "worker", "compression",
    {metric_row<&CompressionCounters::delivered>("delivered", kCompressionMetric, "delivered",
                                                 "Delivered in a coding."),
     metric_row<&CompressionCounters::encoded>("encoded", kCompressionMetric, "encoded",
                                               "Of these: coded anew, rather than remembered."),
     metric_row<&CompressionCounters::not_smaller>("not_smaller", kCompressionMetric, "not_smaller",
                                                   "Tried, and not made smaller."),
     metric_row<&CompressionCounters::over_budget>(
         "over_budget", kCompressionMetric, "over_budget",
         "Delivered as they were: the processor time (`processor_share`) was used up."),
     metric_row<&CompressionCounters::held_bytes>(
         "held_bytes", gauge_metric("prophecy_compressed_bytes", "bytes",
                                    "Bytes in memory of remembered coded bodies."))});

}  // namespace prophecy::sketcher

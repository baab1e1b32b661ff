// `Exposition` is one page of metrics in Prometheus' text format. Filled anew for each scrape from
// numbers that are kept elsewhere, and thrown away with it.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include "base/metric.hpp"

namespace prophecy::http {

// Under the name that Prometheus' own libraries use.
inline constexpr Metric kResidentMemoryMetric =
    gauge_metric("process_resident_memory_bytes", "bytes", "Resident memory of the process.");

class Exposition {
 public:
  using Labels = prometheus::Labels;

  // Each pair of a metric and its labels once.
  void add(const Metric& metric, const Labels& labels, double value);
  // With a value of the metric's own label.
  void add(const Metric& metric, Labels labels, std::string_view own, double value);

  // All numbers of a table, each added up over the blocks.
  template <class Block, std::size_t N>
  void add(const MetricTable<Block, N>& table, const Labels& labels,
           std::type_identity_t<std::span<const Block* const>> blocks) {
    for (const MetricRow<Block>& row : table.rows) {
      if (row.metric.name.empty()) continue;
      const double scale = row.metric.unit == "seconds" ? 1e-9 : 1;
      for (std::size_t number = row.first; number < row.values; ++number)
        add(row.metric, labels, row.name_of(number),
            static_cast<double>(row.sum(blocks, number)) * scale);
    }
  }
  template <class Block, std::size_t N>
  void add(const MetricTable<Block, N>& table, const Labels& labels,
           const std::type_identity_t<Block>& block) {
    const Block* const blocks[] = {&block};
    add(table, labels, blocks);
  }

  void resident_memory();

  [[nodiscard]] std::string text() const;

 private:
  prometheus::Registry registry_;
};

}  // namespace prophecy::http

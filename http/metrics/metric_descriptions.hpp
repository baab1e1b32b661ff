// `MetricDescriptions` lists the metrics of a program for its documentation, from the tables with
// which the program writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/metric.hpp"

namespace prophecy::http {

class MetricDescriptions {
 public:
  // A metric that stands in no table, with the labels that it has beside its own.
  void add(const Metric& metric, std::string_view labels);

  template <class Block, std::size_t N>
  void add(const MetricTable<Block, N>& table) {
    for (const MetricRow<Block>& row : table.rows) {
      if (row.metric.name.empty()) continue;
      Described& described = of(row.metric, table.labels);
      std::string status(row.status.empty() ? "" : table.section);
      if (!row.status.empty()) (status += status.empty() ? "" : ".") += row.status;
      if (row.metric.label.empty()) {
        described.status = status;
      } else if (row.value_name == nullptr) {
        described.values.push_back({std::string(row.value), row.meaning, status});
      } else {
        if (!status.empty()) described.status = status;
        for (std::size_t number = row.first; number < row.values; ++number)
          described.values.push_back({std::string(row.name_of(number)), "", ""});
      }
    }
  }

  // As TOML: a [[metric]] for each, with a [[metric.value]] for each known value of its own label.
  [[nodiscard]] std::string text() const;

 private:
  struct Value {
    std::string name;
    std::string_view meaning;
    std::string status;
  };
  struct Described {
    Metric metric;
    std::string_view labels;
    std::string status;  // its place in the status; "" where it has none of its own
    std::vector<Value> values;
  };
  // Made when there is none.
  [[nodiscard]] Described& of(const Metric& metric, std::string_view labels);

  std::vector<Described> described_;
};

}  // namespace prophecy::http

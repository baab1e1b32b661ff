#include "http/metrics/metric_descriptions.hpp"

#include <algorithm>

#include "base/config/record.hpp"

namespace prophecy::http {
namespace {

void add_line(std::string& text, std::string_view key, std::string_view value) {
  if (!value.empty()) text += std::string(key) + " = " + toml_text(value) + "\n";
}

}  // namespace

void MetricDescriptions::add(const Metric& metric, std::string_view labels) {
  (void)of(metric, labels);
}

MetricDescriptions::Described& MetricDescriptions::of(const Metric& metric,
                                                      std::string_view labels) {
  const auto found = std::find_if(
      described_.begin(), described_.end(),
      [&](const Described& described) { return described.metric.name == metric.name; });
  if (found != described_.end()) return *found;
  return described_.emplace_back(Described{metric, labels, "", {}});
}

std::string MetricDescriptions::text() const {
  std::string text;
  for (const Described& described : described_) {
    const Metric& metric = described.metric;
    std::string labels(described.labels);
    if (!labels.empty() && !metric.label.empty()) labels += ", ";
    labels += metric.label;
    text += "[[metric]]\n";
    add_line(text, "name", metric.name);
    add_line(text, "type", metric.type == Metric::Type::counter ? "counter" : "gauge");
    add_line(text, "unit", metric.unit);
    add_line(text, "labels", labels);
    add_line(text, "help", metric.help);
    add_line(text, "more", metric.more);
    add_line(text, "status", described.status);
    for (const Value& value : described.values) {
      text += "[[metric.value]]\n";
      add_line(text, "name", value.name);
      add_line(text, "meaning", value.meaning);
      add_line(text, "status", value.status);
    }
    text += "\n";
  }
  return text;
}

}  // namespace prophecy::http

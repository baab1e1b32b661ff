#include "http/metrics/exposition.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

#include "base/resident_memory.hpp"

namespace prophecy::http {

void Exposition::add(const Metric& metric, const Labels& labels, double value) {
  const std::string name(metric.name);
  const std::string help(metric.help);
  if (metric.type == Metric::Type::counter) {
    prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add(labels).Increment(
        value);
  } else {
    prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add(labels).Set(value);
  }
}

void Exposition::add(const Metric& metric, Labels labels, std::string_view own, double value) {
  if (!metric.label.empty()) labels[std::string(metric.label)] = own;
  add(metric, labels, value);
}

void Exposition::resident_memory() {
  const auto bytes = resident_memory_bytes();
  if (bytes) add(kResidentMemoryMetric, {}, static_cast<double>(*bytes));
}

std::string Exposition::text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace prophecy::http

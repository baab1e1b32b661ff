#include "http/metrics/exposition.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

#include "base/resident_memory.hpp"

namespace prophecy::http {

void Exposition::counter(const std::string& name, const std::string& help, const Labels& labels,
                         std::uint64_t value) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(registry_);
  family.Add(labels).Increment(static_cast<double>(value));
}

void Exposition::gauge(const std::string& name, const std::string& help, const Labels& labels,
                       double value) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(registry_);
  family.Add(labels).Set(value);
}

void Exposition::resident_memory() {
  const auto bytes = resident_memory_bytes();
  if (!bytes) return;
  gauge("process_resident_memory_bytes", "Resident memory of the process.", {},
        static_cast<double>(*bytes));
}

std::string Exposition::text() const {
  return prometheus::TextSerializer().Serialize(registry_.Collect());
}

}  // namespace prophecy::http

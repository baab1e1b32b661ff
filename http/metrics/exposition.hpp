// One page of metrics in Prometheus' text format. Filled anew for each scrape from numbers that
// are kept elsewhere, and thrown away with it.
//
// Not thread-safe; no I/O.
#pragma once

#include <cstdint>
#include <string>

#include <prometheus/labels.h>
#include <prometheus/registry.h>

namespace prophecy::http {

class Exposition {
 public:
  using Labels = prometheus::Labels;

  // `name` ends in _total. Each pair of a name and its labels once.
  void counter(const std::string& name, const std::string& help, const Labels& labels,
               std::uint64_t value);
  void gauge(const std::string& name, const std::string& help, const Labels& labels, double value);
  // What a process holds of the machine's memory, under the name that Prometheus' own libraries
  // use.
  void resident_memory();

  [[nodiscard]] std::string text() const;

 private:
  prometheus::Registry registry_;
};

}  // namespace prophecy::http

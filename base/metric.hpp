// A `Metric` declares one family of Prometheus' metrics. A `MetricRow` ties a member of a block of
// counters to a family, and to its member of the status. The rows stand beside the block, as a
// `MetricTable`; the page of metrics, the status, the manual and docs/metrics.md follow from them.
// So a new counter is a member and its row, and the place that counts.
//
//     struct SpoolCounters {
//       Counter bodies;
//     };
//     inline constexpr auto kSpoolTable = metric_table<SpoolCounters>("worker", "spool", {
//         metric_row<&SpoolCounters::bodies>("bodies",
//             counter_metric("prophecy_spooled_bodies_total", "bodies", "Bodies written to a
//             file.")),
//     });
//
// A family that breaks Prometheus' conventions for names does not compile. Counts of nanoseconds
// are written as seconds.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace prophecy {

struct Metric {
  enum class Type : std::uint8_t { counter, gauge };

  Type type = Type::counter;
  std::string_view name;   // "" for a number that the status alone has
  std::string_view unit;   // "requests", "bytes", "seconds" ...
  std::string_view help;   // one sentence; with the metric itself
  std::string_view label;  // beside those of its table; "" for none
  std::string_view more;   // further sentences, in the documentation

  // With a label of its own, and what there is to say of its values.
  consteval Metric by(std::string_view own_label, std::string_view about = "") const {
    Metric metric = *this;
    metric.label = own_label;
    metric.more = about;
    return metric;
  }
  consteval Metric about(std::string_view text) const {
    Metric metric = *this;
    metric.more = text;
    return metric;
  }
};

namespace metric_rules {

// Reaching it stops the compiler.
void broken(const char* rule);

consteval bool is_name(std::string_view name) {
  for (const char c : name)
    if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_') return false;
  return name.starts_with("prophecy_") || name.starts_with("process_");
}

consteval Metric checked(const Metric& metric) {
  std::string_view base = metric.name;
  if (!is_name(base)) broken("lower case, digits and _, beginning with prophecy_ or process_");
  if (base.ends_with("_total") != (metric.type == Metric::Type::counter))
    broken("counters end in _total, and nothing else does");
  if (base.ends_with("_total")) base.remove_suffix(6);
  for (const std::string_view unit : {"bytes", "seconds"})
    if (base.ends_with(unit) != (metric.unit == unit)) broken("the name ends in its base unit");
  if (metric.unit.empty()) broken("a metric has a unit");
  if (!metric.help.ends_with('.')) broken("a help is a sentence");
  return metric;
}

}  // namespace metric_rules

consteval Metric counter_metric(std::string_view name, std::string_view unit,
                                std::string_view help) {
  return metric_rules::checked({Metric::Type::counter, name, unit, help, "", ""});
}
consteval Metric gauge_metric(std::string_view name, std::string_view unit, std::string_view help) {
  return metric_rules::checked({Metric::Type::gauge, name, unit, help, "", ""});
}
// A number that the status has, and the metrics have not: it follows from others there.
inline constexpr Metric kNoMetric;

// One number of a Block, or one for each value of an enum.
template <class Block>
struct MetricRow {
  std::string_view status;  // its name in the status; "" where the status has it in another form
  Metric metric;
  std::string_view value;    // of the metric's label
  std::string_view meaning;  // of that value, for the documentation
  std::uint64_t (*read)(const Block&, std::size_t) = nullptr;
  std::size_t values = 1;  // of an enum; read() takes its number
  std::size_t first = 0;   // of these, where there is one that is not counted
  std::string_view (*value_name)(std::size_t) = nullptr;

  [[nodiscard]] constexpr std::string_view name_of(std::size_t number) const {
    return value_name == nullptr ? value : value_name(number);
  }
  // Added up over several blocks, such as those of all workers.
  [[nodiscard]] std::uint64_t sum(std::span<const Block* const> blocks, std::size_t number) const {
    std::uint64_t total = 0;
    for (const Block* block : blocks)
      total += read(*block, number);
    return total;
  }
};

// The rows of one kind of block.
template <class Block, std::size_t N>
struct MetricTable {
  std::string_view labels;   // of every metric, separated by ", "
  std::string_view section;  // of the status
  std::array<MetricRow<Block>, N> rows;
};

namespace metric_reading {

template <class Member>
struct Parts;
template <class BlockType, class ValueType>
struct Parts<ValueType BlockType::*> {
  using Block = BlockType;
  using Value = ValueType;
};
template <auto Member>
using BlockOf = typename Parts<decltype(Member)>::Block;

template <class Value>
std::uint64_t number_of(const Value& value) {
  if constexpr (std::integral<Value>) {
    return static_cast<std::uint64_t>(value);
  } else if constexpr (requires { value.get(); }) {
    return value.get();
  } else {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(value).count());
  }
}

}  // namespace metric_reading

template <auto Member>
consteval auto metric_row(std::string_view status, const Metric& metric,
                          std::string_view value = "", std::string_view meaning = "") {
  using Block = metric_reading::BlockOf<Member>;
  return MetricRow<Block>{status, metric, value, meaning, [](const Block& block, std::size_t) {
                            return metric_reading::number_of(block.*Member);
                          }};
}

// One number for each value of an enum: the member is an array, in the enum's order.
template <auto Member, class Enum, std::size_t First = 0>
consteval auto metric_rows_by(std::string_view status, const Metric& metric) {
  using Parts = metric_reading::Parts<decltype(Member)>;
  using Block = typename Parts::Block;
  MetricRow<Block> row{status, metric, "", "", [](const Block& block, std::size_t number) {
                         return metric_reading::number_of((block.*Member)[number]);
                       }};
  row.values = std::tuple_size_v<typename Parts::Value>;
  row.first = First;
  row.value_name = [](std::size_t number) { return to_string(static_cast<Enum>(number)); };
  return row;
}

template <class Block, std::size_t N>
consteval MetricTable<Block, N> metric_table(std::string_view labels, std::string_view section,
                                             const MetricRow<Block> (&rows)[N]) {
  return {labels, section, std::to_array(rows)};
}

}  // namespace prophecy

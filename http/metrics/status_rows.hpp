// `add_rows` writes the numbers of a MetricTable into an object of the status, each added up over
// the blocks. A row of an enum becomes an object with one member for each value.
#pragma once

#include <span>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

#include "base/metric.hpp"

namespace prophecy::http {

template <class Block, std::size_t N>
void add_rows(nlohmann::ordered_json& object, const MetricTable<Block, N>& table,
              std::type_identity_t<std::span<const Block* const>> blocks) {
  for (const MetricRow<Block>& row : table.rows) {
    if (row.status.empty()) continue;
    nlohmann::ordered_json& member = object[std::string(row.status)];
    if (row.value_name == nullptr) {
      member = row.sum(blocks, 0);
      continue;
    }
    member = nlohmann::ordered_json::object();
    for (std::size_t number = row.first; number < row.values; ++number)
      member[std::string(row.name_of(number))] = row.sum(blocks, number);
  }
}

template <class Block, std::size_t N>
void add_rows(nlohmann::ordered_json& object, const MetricTable<Block, N>& table,
              const std::type_identity_t<Block>& block) {
  const Block* const blocks[] = {&block};
  add_rows(object, table, blocks);
}

}  // namespace prophecy::http

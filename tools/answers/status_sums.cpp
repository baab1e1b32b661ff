#include "tools/answers/status_sums.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace prophecy::tools {
namespace {

using Json = nlohmann::ordered_json;

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Of the status itself: no counts, or a part that has a row of its own.
constexpr std::array<std::string_view, 3> kNoTotals{"uptime_seconds", "ring", "bypass"};
// Of an origin: as one member sees it, and no counts.
constexpr std::array<std::string_view, 3> kOwnViews{"since_seconds", "drain_seconds_left", "share"};
// Of an origin: what all members ought to have alike.
constexpr std::array<std::string_view, 1> kSame{"weight"};

// Null: there is no such part.
Json part(const Json& status, std::initializer_list<const char*> path) {
  const Json* at = &status;
  for (const char* const name : path) {
    if (!at->is_object() || !at->contains(name)) return nullptr;
    at = &(*at)[name];
  }
  return *at;
}

// A member may report any number: a total stays at the greatest one.
std::uint64_t saturating_sum(std::uint64_t left, std::uint64_t right) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  return left > kMax - right ? kMax : left + right;
}

// Adds numbers up, and those of objects within.
void add_counts(Json& total, const Json& value) {
  if (value.is_number()) {
    if (total.is_null()) total = 0U;
    if (!total.is_number()) return;
    const bool is_count = total.is_number_unsigned() && value.is_number_unsigned();
    if (is_count) {
      total = saturating_sum(total.get<std::uint64_t>(), value.get<std::uint64_t>());
    } else {
      total = total.get<double>() + value.get<double>();
    }
    return;
  }
  if (!value.is_object()) return;
  if (total.is_null()) total = Json::object();
  if (!total.is_object()) return;
  for (const auto& [name, each] : value.items()) {
    if (each.is_number() || each.is_object()) add_counts(total[name], each);
  }
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Values that all members ought to have alike.
void add_same(Json& total, const Json& value) {
  if (total.is_null() || total == value) {
    total = value;
    return;
  }
  const std::string known = text_of(total);
  const std::string text = text_of(value);
  if ((" / " + known + " / ").find(" / " + text + " / ") == std::string::npos)
    total = known + " / " + text;
}

// The row of `rows` with the same values of `keys`; made, if there is none.
Json& row_like(Json& rows, const Json& row, std::initializer_list<const char*> keys) {
  for (Json& each : rows) {
    const bool is_same = std::all_of(keys.begin(), keys.end(), [&](const char* key) {
      return part(each, {key}) == part(row, {key});
    });
    if (is_same) return each;
  }
  Json made = Json::object();
  for (const char* const key : keys)
    made[key] = part(row, {key});
  rows.push_back(std::move(made));
  return rows.back();
}

void add_rows_of(Json& rows, const Json& added, std::initializer_list<const char*> keys) {
  if (!added.is_array()) return;
  for (const Json& row : added) {
    if (!row.is_object()) continue;
    Json& total = row_like(rows, row, keys);
    for (const auto& [name, value] : row.items()) {
      const bool is_key = std::find(keys.begin(), keys.end(), name) != keys.end();
      if (is_key || is_one_of(name, kOwnViews)) continue;
      if (value.is_string() || is_one_of(name, kSame)) {
        add_same(total[name], value);
      } else if (value.is_number() || value.is_object()) {
        add_counts(total[name], value);
      }
    }
  }
}

// What all workers have of it together.
Json of_workers(const Json& status, const char* name) {
  Json sum = 0U;
  const Json workers = part(status, {"workers"});
  for (const Json& worker : workers.is_array() ? workers : Json::array())
    add_counts(sum, part(worker, {name}));
  return sum;
}

// Its partitions, as it counts them itself.
Json own_partitions(const Json& status, const std::string& member) {
  const Json members = part(status, {"ring", "members"});
  for (const Json& each : members.is_array() ? members : Json::array()) {
    if (part(each, {"name"}) == member) return part(each, {"partitions"});
  }
  return nullptr;
}

Json row_of(const MemberStatus& member) {
  const Json& status = member.status;
  const Json problems = part(status, {"ring", "process", "problems"});
  return {{"name", member.member},
          {"state", part(status, {"ring", "process", "state"})},
          {"version", part(status, {"version"})},
          {"uptime_seconds", part(status, {"uptime_seconds"})},
          {"view", part(status, {"ring", "process", "adopted_view"})},
          {"lease_ms_left", part(status, {"ring", "process", "lease_ms_left"})},
          {"partitions", own_partitions(status, member.member)},
          {"bypass", part(status, {"bypass"})},
          {"connections", status.is_null() ? Json() : of_workers(status, "connections")},
          {"reads", part(status, {"requests", "reads"})},
          {"writes", part(status, {"requests", "writes"})},
          {"fast", part(status, {"requests", "fast"})},
          {"forwarded", part(status, {"requests", "forwarded"})},
          {"failed", part(status, {"requests", "failed"})},
          {"divergences", part(status, {"divergences"})},
          {"ring_problems", problems.is_array() ? Json(problems.size()) : Json()},
          {"problem", member.problem.empty() ? Json() : Json(member.problem)}};
}

}  // namespace

Json sum_status(std::span<const MemberStatus> members) {
  Json sum{{"members", Json::array()},
           {"total", Json::object()},
           {"routes", Json::array()},
           {"origins", Json::array()}};
  for (const MemberStatus& member : members) {
    sum["members"].push_back(row_of(member));
    if (!member.status.is_object()) continue;
    for (const auto& [name, value] : member.status.items()) {
      const bool is_count = value.is_number() || value.is_object();
      if (is_count && !is_one_of(name, kNoTotals)) add_counts(sum["total"][name], value);
    }
    add_rows_of(sum["routes"], part(member.status, {"routes"}), {"name"});
    add_rows_of(sum["origins"], part(member.status, {"origins"}), {"group", "replica"});
  }
  return sum;
}

}  // namespace prophecy::tools

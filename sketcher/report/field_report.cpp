#include "sketcher/report/field_report.hpp"

#include <map>

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {
namespace {

using Json = nlohmann::ordered_json;
using sketch::RuleText;
using sketch::UnknownFieldCounters;

constexpr Metric kRemovedMetric =
    counter_metric("prophecy_fields_removed_total", "fields",
                   "Header fields taken out of messages, by the rule that named them.")
        .about(
            "`message` is `request` or `answer`. Fields without a rule have the name `(unknown)` "
            "and no group.");
constexpr std::string_view kUnknownAction = "dropped";

std::string_view message_of(bool in_answers) {
  return in_answers ? "answer" : "request";
}

// take(group, rule, count) for each rule that took something out.
template <class Take>
void for_each_rule(const Installation& installation, const SharedState& shared, Take take) {
  for (std::size_t i = 0; i < installation.groups.size(); ++i) {
    const GroupInstallation& group = installation.groups[i];
    std::size_t number = group.first_field;
    for (const RuleText& rule : group.profile.rules()) {
      std::uint64_t count = 0;
      for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
        count += shared.fields(worker)[number].get();
      ++number;
      if (count > 0) take(installation.settings.groups[i].name, rule, count);
    }
  }
}

struct Unknown {
  std::map<std::string, std::uint64_t> by_name;
  std::uint64_t others = 0;

  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t total = others;
    for (const auto& [name, count] : by_name)
      total += count;
    return total;
  }
};

Unknown unknown_fields(const SharedState& shared, bool in_answers) {
  Unknown totals;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker) {
    const sketch::UnknownFields& unknown = shared.unknown_fields(worker);
    const UnknownFieldCounters& counters = in_answers ? unknown.answers : unknown.requests;
    counters.for_each([&](std::string_view name, std::uint64_t count) {
      totals.by_name[std::string(name)] += count;
    });
    totals.others += counters.others();
  }
  return totals;
}

}  // namespace

std::string fields_json(const Installation& installation, const SharedState& shared) {
  Json fields = Json::array();
  const auto add = [&](std::string_view group, bool in_answers, std::string_view name,
                       std::string_view action, std::uint64_t count) {
    fields.push_back({{"group", group},
                      {"message", message_of(in_answers)},
                      {"name", name},
                      {"action", action},
                      {"count", count}});
  };
  for_each_rule(installation, shared,
                [&](const std::string& group, const RuleText& rule, std::uint64_t count) {
                  add(group, rule.in_answers, rule.name, rule.action, count);
                });
  for (const bool in_answers : {false, true}) {
    const Unknown unknown = unknown_fields(shared, in_answers);
    for (const auto& [name, count] : unknown.by_name)
      add("", in_answers, name, kUnknownAction, count);
    if (unknown.others > 0) {
      add("", in_answers, "(other)", kUnknownAction, unknown.others);
    }
  }
  return Json{{"fields", std::move(fields)}}.dump(-1, ' ', true, Json::error_handler_t::replace);
}

void add_fields(http::Exposition& out, const Installation& installation,
                const SharedState& shared) {
  const auto add = [&](const std::string& group, bool in_answers, const std::string& name,
                       std::string_view action, std::uint64_t count) {
    out.add(kRemovedMetric,
            {{"group", group},
             {"message", std::string(message_of(in_answers))},
             {"name", name},
             {"action", std::string(action)}},
            static_cast<double>(count));
  };
  for_each_rule(installation, shared,
                [&](const std::string& group, const RuleText& rule, std::uint64_t count) {
                  add(group, rule.in_answers, rule.name, rule.action, count);
                });
  for (const bool in_answers : {false, true}) {
    const std::uint64_t total = unknown_fields(shared, in_answers).total();
    if (total > 0) add("", in_answers, "(unknown)", kUnknownAction, total);
  }
}

void describe_fields(http::MetricDescriptions& out) {
  out.add(kRemovedMetric, "group, message, name, action");
}

}  // namespace prophecy::sketcher

#include "sketcher/health/origin_admin.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "http/text.hpp"

namespace prophecy::sketcher {

using replica_client::Administration;
using replica_client::OriginChange;

namespace {

constexpr std::string_view kSetState = "set-origin-state";
constexpr std::string_view kSetWeight = "set-origin-weight";
constexpr std::string_view kStatePrefix = "origin/";
constexpr std::string_view kWeightPrefix = "weight/";
constexpr std::uint64_t kDrainSecondsMax = 86'400;

std::string named_text(const nlohmann::json& request, const char* key) {
  return request.contains(key) && request[key].is_string() ? request[key].get<std::string>()
                                                           : std::string();
}

std::optional<std::uint64_t> number_of(const nlohmann::json& request, const char* key) {
  if (!request.contains(key) || !request[key].is_number_unsigned()) return std::nullopt;
  return request[key].get<std::uint64_t>();
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  if (!http::parse_decimal(text, number)) return std::nullopt;
  return number;
}

std::optional<Administration> parse_administration(std::string_view text) {
  if (text == "ready") return Administration::ready;
  if (text == "drain") return Administration::drain;
  if (text == "maint") return Administration::maint;
  return std::nullopt;
}

// What is in front of the first `at`, and what is behind it.
std::pair<std::string_view, std::string_view> split_at(std::string_view text, char at) {
  const std::size_t place = text.find(at);
  if (place == std::string_view::npos) return {text, {}};
  return {text.substr(0, place), text.substr(place + 1)};
}

Error wrong_setting(std::string problem) {
  return Error{ErrorKind::invalid, std::move(problem)};
}

struct NamedOrigin {
  std::string_view group;
  std::uint64_t replica = 0;
  const OriginAddress* configured = nullptr;
};

// "GROUP/REPLICA"
Result<NamedOrigin> find_origin(const Settings& settings, std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return wrong_setting("there is no such origin");
  const auto replica = number_in(path.substr(slash + 1));
  const std::string_view name = path.substr(0, slash);
  const auto group = std::find_if(settings.groups.begin(), settings.groups.end(),
                                  [&](const GroupSettings& each) { return each.name == name; });
  if (!replica || group == settings.groups.end() || *replica >= group->origins.size())
    return wrong_setting("there is no such origin");
  return NamedOrigin{name, *replica, &group->origins[*replica]};
}

Result<std::uint32_t> check_weight(std::optional<std::uint64_t> weight) {
  if (weight && *weight >= 1 && *weight <= replica_client::kWeightMax)
    return static_cast<std::uint32_t>(*weight);
  return wrong_setting("expected a weight from 1 to " + std::to_string(replica_client::kWeightMax));
}

// "STATE[:SECONDS][ REASON]"
Result<OriginChange> parse_state(std::string_view value) {
  OriginChange change;
  const auto [state, reason] = split_at(value, ' ');
  const auto [word, time] = split_at(state, ':');
  change.administration = parse_administration(word);
  if (!change.administration)
    return wrong_setting("expected the state to be one of ready, drain, maint");
  if (word.size() != state.size()) {
    if (*change.administration != Administration::drain)
      return wrong_setting("expected a time with drain alone");
    const auto within = number_in(time).value_or(0);
    if (within < 1 || within > kDrainSecondsMax) {
      return wrong_setting("expected a time from 1 to " + std::to_string(kDrainSecondsMax) +
                           " seconds");
    }
    change.within = seconds(within);
  }
  change.reason = reason;
  return change;
}

}  // namespace

bool takes_origin_change(std::string_view command) {
  return command == kSetState || command == kSetWeight;
}

bool is_origin_setting(std::string_view name) {
  return name.starts_with(kStatePrefix) || name.starts_with(kWeightPrefix);
}

Result<OriginSetting> read_origin_setting(const Settings& settings, std::string_view command,
                                          const nlohmann::json& request) {
  const auto replica = number_of(request, "replica");
  if (!replica) return wrong_setting("expected the number of a replica");
  const std::string path = named_text(request, "group") + "/" + std::to_string(*replica);
  const auto origin = find_origin(settings, path);
  if (!origin) return origin.error();
  if (command == kSetWeight) {
    const auto weight = check_weight(number_of(request, "weight"));
    if (!weight) return weight.error();
    const bool is_configured = *weight == origin->configured->weight;
    return OriginSetting{std::string(kWeightPrefix) + path,
                         is_configured ? "" : std::to_string(*weight)};
  }
  std::string value = named_text(request, "state");
  if (request.contains("within_seconds")) {
    value += ":" + std::to_string(number_of(request, "within_seconds").value_or(0));
  }
  if (const std::string reason = named_text(request, "reason"); !reason.empty())
    value += " " + reason;
  if (auto change = parse_state(value); !change) return change.error();
  return OriginSetting{std::string(kStatePrefix) + path, value};
}

Result<> set_origin(HealthMonitor& health, const Settings& settings, const OriginSetting& setting) {
  const bool is_weight = setting.name.starts_with(kWeightPrefix);
  const auto origin = find_origin(
      settings,
      std::string_view(setting.name).substr((is_weight ? kWeightPrefix : kStatePrefix).size()));
  if (!origin) return origin.error();
  OriginChange change{.administration = Administration::ready, .reason = "by an operator"};
  if (is_weight) {
    const auto weight = setting.value.empty() ? Result<std::uint32_t>(origin->configured->weight)
                                              : check_weight(number_in(setting.value));
    if (!weight) return weight.error();
    change = {.weight = *weight};
  } else if (!setting.value.empty()) {
    auto parsed = parse_state(setting.value);
    if (!parsed) return parsed.error();
    change = std::move(*parsed);
  }
  return health.set(origin->group, origin->replica, std::move(change));
}

}  // namespace prophecy::sketcher

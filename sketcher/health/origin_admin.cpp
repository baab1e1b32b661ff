#include "sketcher/health/origin_admin.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace prophecy::sketcher {

using replica_client::Administration;
using replica_client::OriginChange;

namespace {

using Json = nlohmann::json;

constexpr std::string_view kSetState = "set-origin-state";
constexpr std::uint64_t kDrainSecondsMax = 86'400;
constexpr std::string_view kSetWeight = "set-origin-weight";

std::string as_line(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string text_of(const Json& request, const char* key) {
  return request.contains(key) && request[key].is_string() ? request[key].get<std::string>()
                                                           : std::string();
}

std::optional<std::uint64_t> number_of(const Json& request, const char* key) {
  if (!request.contains(key) || !request[key].is_number_unsigned()) return std::nullopt;
  return request[key].get<std::uint64_t>();
}

std::optional<Administration> parse_administration(std::string_view text) {
  if (text == "ready") return Administration::ready;
  if (text == "drain") return Administration::drain;
  if (text == "maint") return Administration::maint;
  return std::nullopt;
}

Error wrong(std::string problem) {
  return Error{ErrorKind::invalid, std::move(problem)};
}

Result<OriginChange> read_change(std::string_view command, const Json& request) {
  OriginChange change;
  if (command == kSetWeight) {
    const auto weight = number_of(request, "weight");
    if (!weight || *weight > replica_client::kWeightMax) {
      return wrong("expected a weight from 1 to " + std::to_string(replica_client::kWeightMax));
    }
    change.weight = static_cast<std::uint32_t>(*weight);
    return change;
  }
  change.administration = parse_administration(text_of(request, "state"));
  if (!change.administration) {
    return wrong("expected the state to be one of ready, drain, maint");
  }
  change.reason = text_of(request, "reason");
  if (request.contains("within_seconds")) {
    const auto within = number_of(request, "within_seconds").value_or(0);
    if (within < 1 || within > kDrainSecondsMax) {
      return wrong("expected a time from 1 to " + std::to_string(kDrainSecondsMax) + " seconds");
    }
    change.within = seconds(within);
  }
  return change;
}

}  // namespace

bool takes_origin_change(std::string_view command) {
  return command == kSetState || command == kSetWeight;
}

std::string change_origin(HealthMonitor& health, std::string_view command, const Json& request) {
  const auto replica = number_of(request, "replica");
  if (!replica) return as_line({{"error", "expected the number of a replica"}});
  auto change = read_change(command, request);
  if (!change) return as_line({{"error", change.error().message}});
  const std::string group = text_of(request, "group");
  const auto set = health.set(group, *replica, std::move(*change));
  if (!set) return as_line({{"error", set.error().message}});
  if (command != kSetWeight) return "{}";
  return as_line({{"staleness_share", health.staleness_share(group)}});
}

}  // namespace prophecy::sketcher

#include "sketcher/shared/divergence_log.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "sketcher/shared/divergence.hpp"

namespace prophecy::sketcher {
namespace {

// Whose rate an event counts against: nothing of it comes from a client. Nothing for what is no
// event.
std::optional<std::string> accused(std::string_view event) {
  const auto json = nlohmann::json::parse(event, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const bool is_named = json.contains("group") && json["group"].is_string() &&
                        json.contains("replica") && json["replica"].is_number_unsigned();
  if (!is_named) return std::string();
  return (event.starts_with(kShadowEventBegin) ? "shadow " : "replica ") +
         std::to_string(json["replica"].get<std::uint64_t>()) + " of " +
         json["group"].get<std::string>();
}

}  // namespace

void DivergenceLog::add(std::string_view event, TimePoint now) {
  if (!may_record(event, now)) return;
  // Numbered by putting one member more in front of those that the worker wrote.
  const bool of_shadow = event.starts_with(kShadowEventBegin);
  if (!of_shadow) ++accusing_;
  const std::uint64_t id = next_++;
  std::string line = "{\"id\":" + std::to_string(id) + ",";
  line += event.substr(1);
  log_.warning("divergence", {{"evidence", line}});
  kept_.push_back({id, of_shadow, line});
  if (kept_.size() > kKept) {
    const auto shadows =
        std::find_if(kept_.begin(), kept_.end(), [](const Kept& each) { return each.of_shadow; });
    kept_.erase(shadows == kept_.end() ? kept_.begin() : shadows);
  }
  line += '\n';
  file_.append(line);
}

bool DivergenceLog::may_record(std::string_view event, TimePoint now) {
  const auto name = accused(event);
  if (!name) return false;
  auto& rate = rates_.try_emplace(*name, kReportsAtOnce, kReportInterval).first->second;
  if (rate.take(now)) return true;
  ++withheld_;
  return false;
}

std::string DivergenceLog::since(std::uint64_t since) const {
  std::string json = "{\"next\":" + std::to_string(next_) + ",\"events\":[";
  bool empty = true;
  for (const Kept& each : kept_) {
    if (each.id < since) continue;
    if (!empty) json += ',';
    json += each.line;
    empty = false;
  }
  return json + "]}";
}

}  // namespace prophecy::sketcher

#include "sketcher/ring/settings_messages.hpp"

#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/assert.hpp"

namespace prophecy::sketcher {
namespace {

using dht::SettingsOrder;
using dht::SettingsOutcome;

constexpr std::array<std::pair<SettingsOrder::Kind, std::string_view>, 3> kOrderKinds{{
    {SettingsOrder::Kind::change, "change"},
    {SettingsOrder::Kind::accept, "accept"},
    {SettingsOrder::Kind::restore, "restore"},
}};
constexpr std::array<std::pair<SettingsOutcome::Kind, std::string_view>, 5> kOutcomeKinds{{
    {SettingsOutcome::Kind::agreed, "agreed"},
    {SettingsOutcome::Kind::refused, "refused"},
    {SettingsOutcome::Kind::lost, "lost"},
    {SettingsOutcome::Kind::waiting, "waiting"},
    {SettingsOutcome::Kind::replaced, "replaced"},
}};

template <class Kinds, class Kind>
std::string_view word_of(const Kinds& kinds, Kind kind) {
  for (const auto& [each, word] : kinds) {
    if (each == kind) return word;
  }
  UNREACHABLE();
}

template <class Kind, class Kinds>
std::optional<Kind> kind_of(const Kinds& kinds, const nlohmann::json& word) {
  for (const auto& [kind, each] : kinds) {
    if (word == each) return kind;
  }
  return std::nullopt;
}

std::string setting_line(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool has_text(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string();
}
bool has_number(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_number_unsigned();
}

}  // namespace

std::string_view to_string(SettingsOutcome::Kind kind) {
  return word_of(kOutcomeKinds, kind);
}

std::string order_text(const SettingsOrder& order) {
  return setting_line({{"order", word_of(kOrderKinds, order.kind)},
                       {"id", order.id},
                       {"name", order.change.name},
                       {"value", order.change.value},
                       {"bases", order.bases}});
}

std::string carried_out_text(dht::SettingsNumber number) {
  return setting_line({{"carried_out", number}});
}

std::optional<MasterMessage> parse_master_message(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  if (has_number(json, "carried_out"))
    return SettingsCarriedOut{json["carried_out"].get<dht::SettingsNumber>()};
  const auto kind = json.contains("order")
                        ? kind_of<SettingsOrder::Kind>(kOrderKinds, json["order"])
                        : std::nullopt;
  const bool is_whole = kind && has_number(json, "id") && has_text(json, "name") &&
                        has_text(json, "value") && json.contains("bases") &&
                        json["bases"].is_array();
  if (!is_whole) return std::nullopt;
  SettingsOrder order{.id = json["id"].get<std::uint64_t>(), .kind = *kind};
  order.change = {json["name"].get<std::string>(), json["value"].get<std::string>()};
  for (const nlohmann::json& base : json["bases"]) {
    if (!base.is_string()) return std::nullopt;
    order.bases.push_back(base.get<std::string>());
  }
  return order;
}

std::string agreed_text(const dht::AgreedSettings& settings) {
  return setting_line({{"agreed", {{"number", settings.number}, {"values", settings.values}}}});
}

std::string outcome_text(const SettingsOutcome& outcome) {
  return setting_line({{"outcome",
                        {{"id", outcome.id},
                         {"kind", word_of(kOutcomeKinds, outcome.kind)},
                         {"message", outcome.message}}}});
}

std::optional<dht::SettingValues> parse_setting_values(const nlohmann::json& values) {
  if (!values.is_object() || values.size() > dht::kSettingsMax) return std::nullopt;
  dht::SettingValues parsed;
  for (const auto& [name, value] : values.items()) {
    const bool is_setting = dht::is_setting_name(name) && value.is_string() &&
                            dht::is_setting_value(value.get<std::string>());
    if (!is_setting) return std::nullopt;
    parsed[name] = value.get<std::string>();
  }
  return parsed;
}

std::optional<SettingsMessage> parse_settings_message(const nlohmann::json& message) {
  if (!message.is_object()) return std::nullopt;
  if (message.contains("agreed")) {
    const nlohmann::json& agreed = message["agreed"];
    if (!agreed.is_object() || !has_number(agreed, "number") || !agreed.contains("values"))
      return std::nullopt;
    auto values = parse_setting_values(agreed["values"]);
    if (!values) return std::nullopt;
    return dht::AgreedSettings{agreed["number"].get<dht::SettingsNumber>(), std::move(*values), {}};
  }
  if (!message.contains("outcome") || !message["outcome"].is_object()) return std::nullopt;
  const nlohmann::json& outcome = message["outcome"];
  const auto kind = outcome.contains("kind")
                        ? kind_of<SettingsOutcome::Kind>(kOutcomeKinds, outcome["kind"])
                        : std::nullopt;
  if (!kind || !has_number(outcome, "id") || !has_text(outcome, "message")) return std::nullopt;
  return SettingsOutcome{outcome["id"].get<std::uint64_t>(), *kind,
                         outcome["message"].get<std::string>()};
}

}  // namespace prophecy::sketcher

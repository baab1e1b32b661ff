// What the master and the ring's process say to each other of settings that members agree on
// (dht/core/settings_share.hpp): one message each, as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "dht/core/settings_share.hpp"

namespace prophecy::sketcher {

// Of what the master says. A longer order is refused before it is sent.
constexpr std::size_t kRingOrderBytesMax = 16 << 10;

// The member acts by the settings of that number.
struct SettingsCarriedOut {
  dht::SettingsNumber number = 0;
};

[[nodiscard]] std::string order_text(const dht::SettingsOrder& order);
[[nodiscard]] std::string carried_out_text(dht::SettingsNumber number);
using MasterMessage = std::variant<dht::SettingsOrder, SettingsCarriedOut>;
// Nothing: it is none of these.
[[nodiscard]] std::optional<MasterMessage> parse_master_message(std::string_view text);

[[nodiscard]] std::string agreed_text(const dht::AgreedSettings& settings);
[[nodiscard]] std::string outcome_text(const dht::SettingsOutcome& outcome);
using SettingsMessage = std::variant<dht::AgreedSettings, dht::SettingsOutcome>;
// Likewise. The settings have no setters.
[[nodiscard]] std::optional<SettingsMessage> parse_settings_message(const nlohmann::json& message);

// {NAME: VALUE}; nothing, if a name or a value is none.
[[nodiscard]] std::optional<dht::SettingValues> parse_setting_values(const nlohmann::json& values);

[[nodiscard]] std::string_view to_string(dht::SettingsOutcome::Kind kind);

}  // namespace prophecy::sketcher

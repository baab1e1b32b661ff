// The text of agreed_settings.hpp:
//
//   prophecy-settings 1
//   cluster 9f2c
//   number 17
//   setters 1
//   setter 0000000000000001 3 17
//   settings 2
//   bypass on
//   origin/default/2 maint disk is full
//   seal 5b..
#include "dht/core/agreed_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/digest.hpp"
#include "dht/core/lines.hpp"

namespace prophecy::dht {
namespace {

constexpr std::string_view kForm = "prophecy-settings 1\n";
constexpr std::string_view kSealWord = "seal ";
constexpr std::size_t kSealDigits = 64;
constexpr std::size_t kSealBytes = kSealWord.size() + kSealDigits + 1;

Error settings_error(std::string message) {
  return Error{ErrorKind::invalid, std::move(message)};
}

std::string instance_text(Instance instance) {
  std::array<std::uint8_t, sizeof instance> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(instance >> (56 - 8 * i));
  return to_hex(bytes);
}

std::size_t line_bytes(std::string_view name, std::string_view value) {
  return name.size() + value.size() + 2;
}

std::optional<Error> why_too_much(const SettingValues& values) {
  std::size_t mark_bytes = 0;
  std::size_t other_bytes = 0;
  for (const auto& [name, value] : values)
    (name.starts_with(kMarkPrefix) ? mark_bytes : other_bytes) += line_bytes(name, value);
  if (mark_bytes > kMarkBytesMax)
    return settings_error("there is no room for another mark: all of them may have " +
                          std::to_string(kMarkBytesMax) + " bytes; take some away first");
  if (other_bytes > kOtherSettingBytesMax)
    return settings_error("there is no room: all settings but marks may have " +
                          std::to_string(kOtherSettingBytesMax) + " bytes");
  if (values.size() > kSettingsMax)
    return settings_error("there may be " + std::to_string(kSettingsMax) + " settings");
  return std::nullopt;
}

}  // namespace

std::string value_of(const SettingValues& values, std::string_view name) {
  const auto found = values.find(name);
  return found == values.end() ? std::string() : found->second;
}

bool is_setting_name(std::string_view text) {
  return !text.empty() && text.size() <= kSettingNameBytesMax &&
         std::all_of(text.begin(), text.end(), [](char letter) {
           return letter == '/' || is_name({&letter, 1});
         });
}

bool is_setting_value(std::string_view text) {
  return !text.empty() && text.size() <= kSettingValueBytesMax &&
         std::none_of(text.begin(), text.end(), [](char letter) {
           const auto byte = static_cast<unsigned char>(letter);
           return byte < 0x20 || byte == 0x7f;
         });
}

Result<AgreedSettings> changed(const AgreedSettings& settings, const SettingChange& change,
                               Instance instance, std::uint64_t own_number) {
  if (!is_setting_name(change.name)) {
    return settings_error("a setting's name has wrong letters, or more than " +
                          std::to_string(kSettingNameBytesMax));
  }
  if (!change.value.empty() && !is_setting_value(change.value)) {
    return settings_error(change.name + ": the value has control characters, or more than " +
                          std::to_string(kSettingValueBytesMax) + " bytes");
  }
  if (settings.number >= kSettingsNumberMax) return settings_error("the numbers are used up");
  AgreedSettings next = settings;
  ++next.number;
  if (change.value.empty()) {
    next.values.erase(change.name);
  } else {
    next.values[change.name] = change.value;
  }
  // Taking something away is always possible.
  if (!change.value.empty()) {
    if (auto error = why_too_much(next.values)) return std::move(*error);
  }
  std::erase_if(next.setters, [&](const Setter& each) { return each.instance == instance; });
  next.setters.push_back({instance, own_number, next.number});
  if (next.setters.size() > kSettersMax) next.setters.erase(next.setters.begin());
  return next;
}

std::string SettingsCodec::seal_of(std::string_view text) const {
  Hmac<Sha256> hmac(key_);
  hmac.update(as_bytes(text));
  return to_hex(hmac.finish());
}

std::string SettingsCodec::encode(const AgreedSettings& settings) const {
  std::string text(kForm);
  text += "cluster " + cluster_ + "\nnumber " + std::to_string(settings.number) + "\nsetters " +
          std::to_string(settings.setters.size()) + "\n";
  for (const Setter& setter : settings.setters) {
    text += "setter " + instance_text(setter.instance) + " " + std::to_string(setter.change) + " " +
            std::to_string(setter.number) + "\n";
  }
  text += "settings " + std::to_string(settings.values.size()) + "\n";
  for (const auto& [name, value] : settings.values)
    text.append(name).append(" ").append(value).append("\n");
  return text + std::string(kSealWord) + seal_of(text) + "\n";
}

Result<AgreedSettings> SettingsCodec::decode(std::string_view text) const {
  if (text.size() > kSettingsBytesMax) return settings_error("the text is too long");
  if (!text.starts_with(kForm))
    return settings_error("these are no settings, or those of another build");
  if (text.size() < kForm.size() + kSealBytes) return settings_error("the text is cut off");
  const std::string_view sealed = text.substr(0, text.size() - kSealBytes);
  const std::string seal = std::string(kSealWord) + seal_of(sealed) + "\n";
  if (!equal_in_constant_time(as_bytes(seal), as_bytes(text.substr(sealed.size()))))
    return settings_error("the seal is wrong: it was changed, or is of another secret");
  Lines lines(sealed, kSettingsBytesMax);
  lines.line();  // the form
  lines.line("cluster");
  const std::string_view cluster = lines.rest_of_line();
  if (!lines.failed() && cluster != cluster_)
    return settings_error("it is of another ring, \"" +
                          std::string(cluster.substr(0, kWordBytesMax)) + "\"");
  AgreedSettings settings;
  lines.line("number");
  settings.number = lines.number(0, kSettingsNumberMax);
  lines.line("setters");
  for (std::uint64_t left = lines.number(0, kSettersMax); left > 0 && !lines.failed(); --left) {
    lines.line("setter");
    Setter& setter = settings.setters.emplace_back();
    setter.instance = lines.number(0, UINT64_MAX, 16);
    setter.change = lines.number(0, UINT64_MAX);
    setter.number = lines.number(0, settings.number);
  }
  lines.line("settings");
  for (std::uint64_t left = lines.number(0, kSettingsMax); left > 0 && !lines.failed(); --left) {
    lines.line();
    const std::string_view name = lines.word();
    const std::string_view value = lines.rest_of_line();
    if (!is_setting_name(name) || !is_setting_value(value)) lines.fail("a setting is wrong");
    if (!lines.failed()) settings.values.emplace(name, value);
  }
  if (auto error = lines.error()) return std::move(*error);
  if (encode(settings) != text)
    return settings_error("the text is not spelt as it is written here");
  return settings;
}

}  // namespace prophecy::dht

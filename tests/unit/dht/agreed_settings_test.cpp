// What operators set for all members, as values and as text.
#include "dht/core/agreed_settings.hpp"

#include <catch2/catch.hpp>

namespace prophecy::dht {
namespace {

constexpr Instance kSettingsTestInstance = 7;

SettingsCodec settings_test_codec(std::string cluster = "site") {
  return {std::move(cluster), SettingsCodec::Key{1, 2, 3}};
}

AgreedSettings with(const AgreedSettings& settings, std::string name, std::string value) {
  auto next = changed(settings, {std::move(name), std::move(value)}, kSettingsTestInstance, 1);
  REQUIRE(next.has_value());
  return *next;
}

bool is_read_as(const Result<AgreedSettings>& read, const AgreedSettings& settings) {
  return read.has_value() && *read == settings;
}

std::string mark_name(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(kMarkPrefix) + std::string(40 - digits.size(), '0') + digits;
}

}  // namespace

TEST_CASE("A change of settings sets a value, or takes it away") {
  AgreedSettings settings = with({}, "bypass", "on");
  settings = with(settings, "origin/default/2", "maint the disk is full");
  CHECK(settings.number == 2);
  CHECK(value_of(settings.values, "origin/default/2") == "maint the disk is full");
  settings = with(settings, "bypass", "");
  CHECK(settings.number == 3);
  CHECK(settings.values.size() == 1);
  CHECK(settings.setters == std::vector<Setter>{{kSettingsTestInstance, 1, 3}});
}

TEST_CASE("Names and values of settings are bounded") {
  const auto is_refused = [](std::string name, std::string value) {
    return !changed({}, {std::move(name), std::move(value)}, 1, 1).has_value();
  };
  CHECK(is_refused("", "on"));
  CHECK(is_refused("by pass", "on"));
  CHECK(is_refused(std::string(kSettingNameBytesMax + 1, 'a'), "on"));
  CHECK(is_refused("bypass", "on\n"));
  CHECK(is_refused("bypass", std::string(kSettingValueBytesMax + 1, 'a')));
  CHECK_FALSE(
      is_refused(std::string(kSettingNameBytesMax, 'a'), std::string(kSettingValueBytesMax, 'a')));
}

TEST_CASE("Marks leave room for everything else") {
  AgreedSettings settings;
  std::size_t count = 0;
  for (;; ++count) {
    auto next = changed(settings, {mark_name(count), "blacklisted"}, 1, count);
    if (!next) {
      CHECK(next.error().message.find("mark") != std::string::npos);
      break;
    }
    settings = std::move(*next);
  }
  CHECK(count > 700);
  std::size_t others = 0;
  for (;; ++others) {
    auto next = changed(
        settings, {"origin/default/" + std::to_string(others), "maint " + std::string(200, 'r')}, 1,
        others);
    if (!next) break;
    settings = std::move(*next);
  }
  CHECK(others > 40);
  // Something can be taken away all the same, and each such text is read again.
  CHECK(changed(settings, {mark_name(0), ""}, 1, 1).has_value());
  const std::string text = settings_test_codec().encode(settings);
  CHECK(text.size() <= kSettingsBytesMax);
  CHECK(is_read_as(settings_test_codec().decode(text), settings));
}

TEST_CASE("The text of settings holds all setters that are remembered") {
  AgreedSettings settings;
  for (Instance instance = 1; instance <= kSettersMax + 3; ++instance) {
    auto next = changed(settings, {"bypass", "on"}, ~instance, UINT64_MAX);
    REQUIRE(next.has_value());
    settings = std::move(*next);
  }
  CHECK(settings.setters.size() == kSettersMax);
  CHECK(settings.setters.front().number == 4);
  const std::string text = settings_test_codec().encode(settings);
  CHECK(text.size() <= kSettingsFrameBytesMax);
  CHECK(is_read_as(settings_test_codec().decode(text), settings));
}

TEST_CASE("Settings that were cut, changed, or are of others are refused by name") {
  const AgreedSettings settings = with(with({}, "bypass", "on"), "route/api", "observe");
  const SettingsCodec codec = settings_test_codec();
  const std::string text = codec.encode(settings);
  REQUIRE(is_read_as(codec.decode(text), settings));
  for (std::size_t size = 0; size < text.size(); ++size)
    CHECK_FALSE(codec.decode(text.substr(0, size)).has_value());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed_text = text;
    changed_text[at] ^= 1;
    CHECK_FALSE(codec.decode(changed_text).has_value());
  }
  CHECK_FALSE(codec.decode(text + "\n").has_value());
  CHECK_FALSE(codec.decode(std::string(kSettingsBytesMax + 1, 'x')).has_value());
  const auto message = [](const Result<AgreedSettings>& result) {
    return result.has_value() ? std::string() : result.error().message;
  };
  CHECK(message(codec.decode("hello")).find("no settings") != std::string::npos);
  CHECK(message(settings_test_codec("other").decode(text)).find("another ring, \"site\"") !=
        std::string::npos);
  const SettingsCodec other_secret("site", SettingsCodec::Key{9});
  CHECK(message(other_secret.decode(text)).find("seal") != std::string::npos);
}

}  // namespace prophecy::dht

// `AgreedSettings` is what operators have set for all members of a ring at run time: names with
// values, in one node of the coordination service. A name without a value is as configured.
//
// Numbers count the changes. Each change is made by compare-and-set on the node, so there is one
// text of each number, unless an operator has set the node back (settings_share.hpp).
//
// Marks on requests are many, and their names are short (a key of the history). They may fill a
// part of the node alone, so that the rest can always be changed.
//
// Pure values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "dht/core/view.hpp"

namespace prophecy::dht {

using SettingsNumber = std::uint64_t;
constexpr SettingsNumber kSettingsNumberMax = (SettingsNumber{1} << 62) - 1;

constexpr std::size_t kSettingNameBytesMax = 160;   // letters, digits, '.', '-', '_' and '/'
constexpr std::size_t kSettingValueBytesMax = 256;  // without control characters
constexpr std::size_t kSettingsMax = 1024;
constexpr std::size_t kSettersMax = 32;
constexpr std::size_t kSettingsBytesMax = 64 << 10;      // of the whole text
constexpr std::size_t kMarkBytesMax = 48 << 10;          // of all marks in it
constexpr std::size_t kOtherSettingBytesMax = 12 << 10;  // of all others
// For the first lines, those of setters, and the seal.
constexpr std::size_t kSettingsFrameBytesMax = 4 << 10;
static_assert(kMarkBytesMax + kOtherSettingBytesMax + kSettingsFrameBytesMax <= kSettingsBytesMax);

// Names of marks begin so.
constexpr std::string_view kMarkPrefix = "mark/";

// The last change of a process, by which it finds out whether a write of unknown outcome was
// carried out.
struct Setter {
  Instance instance = 0;
  std::uint64_t change = 0;  // its own number
  SettingsNumber number = 0;

  bool operator==(const Setter&) const = default;
};

using SettingValues = std::map<std::string, std::string, std::less<>>;

struct AgreedSettings {
  SettingsNumber number = 0;  // 0: nobody has ever set anything
  SettingValues values;
  std::vector<Setter> setters;  // by their numbers; the oldest ones are forgotten

  bool operator==(const AgreedSettings&) const = default;
};

struct SettingChange {
  std::string name;
  std::string value;  // empty: as configured

  bool operator==(const SettingChange&) const = default;
};

// Empty: as configured.
[[nodiscard]] std::string value_of(const SettingValues& values, std::string_view name);

[[nodiscard]] bool is_setting_name(std::string_view text);
[[nodiscard]] bool is_setting_value(std::string_view text);  // an empty one is none

// `settings` after this change, which that process makes; or the bound that the change breaks.
[[nodiscard]] Result<AgreedSettings> changed(const AgreedSettings& settings,
                                             const SettingChange& change, Instance instance,
                                             std::uint64_t own_number);

// `SettingsCodec` writes and reads the node's text, which is sealed by a key of the installation:
// who can write to the service can take settings away, or put older ones back, but make none.
class SettingsCodec {
 public:
  using Key = std::array<std::uint8_t, 32>;

  // `cluster`: of Parameters.
  SettingsCodec(std::string cluster, const Key& key) : cluster_(std::move(cluster)), key_(key) {}

  [[nodiscard]] std::string encode(const AgreedSettings& settings) const;
  // Accepts what encode() yields, byte for byte, and nothing else. An error says what is wrong.
  [[nodiscard]] Result<AgreedSettings> decode(std::string_view text) const;

 private:
  [[nodiscard]] std::string seal_of(std::string_view text) const;

  std::string cluster_;
  Key key_;
};

}  // namespace prophecy::dht

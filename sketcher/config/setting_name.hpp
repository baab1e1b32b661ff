// The names that a configuration gives to groups and routes: operators type them, and they stand in
// logs, metrics and keys.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config/config.hpp"

namespace prophecy::sketcher {

constexpr std::size_t kSettingNameBytesMax = 64;

[[nodiscard]] inline bool is_setting_name(std::string_view name) {
  return !name.empty() && name.size() <= kSettingNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

// The key `name` of the latest of `named`, which has to be another one than theirs; an only one
// needs none.
template <class Named>
[[nodiscard]] std::string read_setting_name(ConfigSection& section, std::string_view help,
                                            const std::vector<Named>& named, bool is_only_one) {
  const std::size_t before = named.size();
  std::string name =
      section.text(Key{"name", help}.otherwise("`\"default\"`, if it is the only one"),
                   is_only_one ? std::optional<std::string>("default") : std::nullopt);
  if (!section.has("name")) return name;
  if (!is_setting_name(name)) {
    section.mistake("name", "expected 1 to 64 of a-z, 0-9, \"-\", \"_\", \".\"");
  }
  for (std::size_t i = 0; i < before; ++i) {
    if (named[i].name == name) section.mistake("name", "expected a name of its own");
  }
  return name;
}

}  // namespace prophecy::sketcher

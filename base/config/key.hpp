// `Key` declares one setting, or one table of settings, to the reader that asks for it. Together
// with the type, the bounds and the default that the reader passes, it is all that messages, the
// manual and docs/settings.md say of the setting.
#pragma once

#include <string_view>

namespace prophecy {

// How a running program takes a change.
enum class Reload : unsigned char {
  restart,  // by a restart
  file,     // the file that the setting names is opened again on SIGHUP
};

struct Key {
  // A name alone declares a setting without help, for tests.
  constexpr Key(const char* key) : name(key) {}       // NOLINT(google-explicit-constructor)
  constexpr Key(std::string_view key) : name(key) {}  // NOLINT(google-explicit-constructor)
  constexpr Key(std::string_view key, std::string_view help_text) : name(key), help(help_text) {}

  // In place of the value, where the default depends on the machine or on other settings.
  [[nodiscard]] constexpr Key otherwise(std::string_view text) const {
    Key key = *this;
    key.default_text = text;
    return key;
  }
  // In place of the numbers, where the bounds depend on other settings.
  [[nodiscard]] constexpr Key within(std::string_view text) const {
    Key key = *this;
    key.bounds_text = text;
    return key;
  }
  [[nodiscard]] constexpr Key reloaded() const {
    Key key = *this;
    key.reload = Reload::file;
    return key;
  }

  std::string_view name;
  // Whole sentences for an operator. Between backquotes stand names and values as they are written.
  std::string_view help;
  std::string_view default_text;
  std::string_view bounds_text;
  Reload reload = Reload::restart;
};

}  // namespace prophecy

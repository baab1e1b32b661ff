#include "base/config/shared_settings.hpp"

namespace prophecy {

LogSettings read_log_settings(ConfigSection section) {
  LogSettings settings;
  settings.level = static_cast<LogLevel>(
      section.choice({"level", "The least severe lines that are logged, on standard error."},
                     {"debug", "info", "warning", "error"}, 1));
  settings.format = static_cast<LogFormat>(
      section.choice({"format", "How a line is written."}, {"text", "json"}, 0));
  return settings;
}

AddressRanges read_address_ranges(ConfigSection& section, const Key& key) {
  AddressRanges ranges;
  for (const std::string& text : section.texts(key, std::vector<std::string>{})) {
    if (auto range = AddressRange::parse(text)) {
      ranges.push_back(*range);
    } else {
      section.mistake(key.name, text,
                      "expected ADDRESS or ADDRESS/BITS, numeric and without bits beyond the "
                      "prefix, as in \"10.0.0.0/8\" or \"2001:db8::/32\"");
    }
  }
  return ranges;
}

}  // namespace prophecy

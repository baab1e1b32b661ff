#include "canonical/set_fields.hpp"

#include <algorithm>

#include "base/config/config.hpp"
#include "canonical/configured_name.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::size_t kFieldsMax = 64;
constexpr std::size_t kValueBytesMax = 4096;

}  // namespace

std::optional<ConfiguredField> parse_configured_field(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view name = text.substr(0, colon);
  std::string_view value = text.substr(colon + 1);
  while (value.starts_with(' '))
    value.remove_prefix(1);
  while (value.ends_with(' '))
    value.remove_suffix(1);
  const bool is_field = http::is_token(name) && name.size() <= kConfiguredNameBytesMax &&
                        !value.empty() && http::is_field_value(value) &&
                        value.size() <= kValueBytesMax;
  if (!is_field) return std::nullopt;
  ConfiguredField field;
  http::append_lower(field.name, name);
  field.value.assign(value);
  return field;
}

SetFields SetFields::from_config(ConfigSection& section, const Key& key) {
  SetFields set;
  for (const std::string& line : section.texts(key, std::vector<std::string>{})) {
    auto field = parse_configured_field(line);
    if (!field) {
      section.mistake(key.name, line, "expected fields such as \"x-name: value\"");
      continue;
    }
    if (set.contains(field->name)) {
      section.mistake(key.name, line, "expected each field once");
    }
    set.names_.set(with_hyphens(field->name), 1);
    set.fields_.push_back(std::move(*field));
  }
  if (set.fields_.size() > kFieldsMax) {
    section.mistake(key.name, "expected at most " + std::to_string(kFieldsMax) + " of them");
  }
  return set;
}

bool SetFields::contains(std::string_view name) const {
  if (name.find('_') == std::string_view::npos) return names_.find(name) != nullptr;
  return names_.find(with_hyphens(name)) != nullptr;
}

void SetFields::apply(const http::FieldList& from, http::FieldList& into) const {
  into.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!contains(from.name(i))) into.add(from.name(i), from.value(i));
  }
  for (const ConfiguredField& field : fields_)
    into.add(field.name, field.value);
}

std::string_view SetFields::without_key(const Profile& profile) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(), [&](const auto& field) {
    return profile.request_rule(field.name) != RequestRule::keyed;
  });
  return found == fields_.end() ? std::string_view() : std::string_view(found->name);
}

}  // namespace prophecy::sketch

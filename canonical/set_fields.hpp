// SetFields holds the fields that a route sets in its requests, reads and writes alike, in place of
// those of that name that a client sends.
//
// A read's key covers them as it covers the client's own, so lists may change, and routes may have
// different ones, without a key that stands for two requests. A field that a group's profile does
// not key cannot be set: without_key() names one.
//
// Immutable once made; may be shared by threads.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "canonical/name_table.hpp"
#include "canonical/profile.hpp"
#include "http/message.hpp"

namespace prophecy {
class ConfigSection;
struct Key;
}  // namespace prophecy

namespace prophecy::sketch {

// One line of a list such as "name: value"; the name in lower case. Nothing: it is none.
struct ConfiguredField {
  std::string name;
  std::string value;
};
[[nodiscard]] std::optional<ConfiguredField> parse_configured_field(std::string_view text);

class SetFields {
 public:
  // Reads a list of lines. What may not be set is noted as a mistake.
  [[nodiscard]] static SetFields from_config(ConfigSection& section, const Key& key);

  [[nodiscard]] bool empty() const { return fields_.empty(); }
  // `name` is in lower case. To a CGI program X_A and X-A are one field, so they are one here.
  [[nodiscard]] bool contains(std::string_view name) const;
  // `into` becomes `from` with the fields set.
  void apply(const http::FieldList& from, http::FieldList& into) const;
  // The name of one that reads would lose, since the profile does not key it; "": there is none.
  [[nodiscard]] std::string_view without_key(const Profile& profile) const;

 private:
  std::vector<ConfiguredField> fields_;
  NameTable names_;  // with - for _
};

}  // namespace prophecy::sketch

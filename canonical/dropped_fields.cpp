#include "canonical/dropped_fields.hpp"

#include <string>

#include "base/config/config.hpp"
#include "canonical/configured_name.hpp"
#include "canonical/profile.hpp"

namespace prophecy::sketch {
namespace {

constexpr std::size_t kNamesMax = 256;

// The reason why requests keep the field, or "".
std::string_view why_kept(const Profile& defaults, std::string_view name) {
  const RequestRule rule = defaults.request_rule(name);
  if (rule == RequestRule::generated || rule == RequestRule::hop_by_hop) {
    return "is handled by the sketcher";
  }
  // A condition that vanishes is a lost update. Those of reads, and ranges, are the sketcher's.
  if (name == "if" || name.starts_with("if-") || name == "range")
    return "is a condition or a range";
  // An origin would take the body for something else: a part for the whole, a form for JSON.
  if (name.starts_with("content-")) return "says what the body is";
  // Without them a method does more than it was asked to.
  for (const char* argument : {"depth", "destination", "lock-token", "overwrite"}) {
    if (name == argument) return "is an argument of WebDAV's methods";
  }
  return "";
}

}  // namespace

DroppedFields DroppedFields::from_config(ConfigSection& section, const Key& key) {
  const Profile defaults;
  DroppedFields dropped;
  for (const std::string& name : read_field_names(section, key)) {
    const std::string plain = with_hyphens(name);
    const std::string_view why = why_kept(defaults, plain);
    if (why.empty()) {
      dropped.names_.set(plain, 1);
    } else {
      section.mistake(key.name, name,
                      "expected fields that a request can do without, found \"" + name +
                          "\", which " + std::string(why));
    }
  }
  if (dropped.names_.size() > kNamesMax) {
    section.mistake(key.name, "expected at most " + std::to_string(kNamesMax) + " of them");
  }
  return dropped;
}

bool DroppedFields::contains(std::string_view name) const {
  if (name.find('_') == std::string_view::npos) return names_.find(name) != nullptr;
  return names_.find(with_hyphens(name)) != nullptr;
}

}  // namespace prophecy::sketch

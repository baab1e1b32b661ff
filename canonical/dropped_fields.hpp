// DroppedFields names the fields that a route takes out of its requests, reads and writes alike.
//
// A dropped field is neither keyed nor forwarded, so the key of a read still covers what an origin
// sees of it: the request is handled as one without the field. So lists may change, and routes may
// have different ones, without a key that stands for two requests.
//
// Immutable once made; may be shared by threads.
#pragma once

#include <string_view>

#include "canonical/name_table.hpp"

namespace prophecy {
class ConfigSection;
struct Key;
}  // namespace prophecy

namespace prophecy::sketch {

class DroppedFields {
 public:
  // Reads a list of names. Names that may not be dropped are noted as mistakes.
  [[nodiscard]] static DroppedFields from_config(ConfigSection& section, const Key& key);

  [[nodiscard]] bool empty() const { return names_.size() == 0; }
  // `name` is in lower case. To a CGI program X_A and X-A are one field, so they are one here.
  [[nodiscard]] bool contains(std::string_view name) const;

 private:
  NameTable names_;  // with - for _
};

}  // namespace prophecy::sketch

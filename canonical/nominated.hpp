// The names that a message's Connection fields declare to be of this connection only (RFC 9110,
// 7.6.1). Internal to sketch/.
#pragma once

#include <string_view>

#include "http/message.hpp"

namespace prophecy::sketch {

class NominatedNames {
 public:
  // Replaces what was there by the names that `fields` nominates. False when there are more than
  // anybody has a reason for.
  [[nodiscard]] bool read(const http::FieldList& fields);

  [[nodiscard]] bool contains(std::string_view lower_case_name) const {
    return names_.size() > 0 && names_.find(lower_case_name).has_value();
  }
  [[nodiscard]] std::size_t size() const { return names_.size(); }
  [[nodiscard]] std::string_view name(std::size_t index) const { return names_.name(index); }

 private:
  http::FieldList names_;  // without values; lowers the names, and keeps its storage
};

}  // namespace prophecy::sketch

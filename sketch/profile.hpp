// The canonicalisation profile: what happens to each header field, in both directions. All members
// of a group use the same one; its id is part of every canonical form. docs/canonical-form.md
// holds the table with the reason for each field.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/config.hpp"
#include "base/digest.hpp"

namespace prophecy::sketch {

// What happens to a field of a request that is a read. (Writes forward every end-to-end field,
// since nothing of them enters the history.)
enum class RequestRule : std::uint8_t {
  keyed,       // covered by s(q) and forwarded
  forwarded,   // forwarded for the origin's logs, not covered: the visible exception
  generated,   // replaced by the sketcher's own
  dropped,     // not forwarded: the default for an unknown field
  hop_by_hop,  // belongs to the connection
};

// What happens to a field of an answer.
enum class AnswerRule : std::uint8_t {
  covered,      // covered by s(r) and delivered: the default for an unknown field
  regenerated,  // removed; the sketcher writes its own or none
  dropped,      // removed
  hop_by_hop,   // belongs to the connection
};

class Profile {
 public:
  Profile();  // the defaults
  // Reads [canonical]: additions to the defaults, checked against what may not be changed.
  [[nodiscard]] static Profile from_config(ConfigSection section);

  [[nodiscard]] RequestRule request_rule(std::string_view lower_case_name) const;
  [[nodiscard]] AnswerRule answer_rule(std::string_view lower_case_name) const;
  [[nodiscard]] const Sha256::Digest& id() const;
};

}  // namespace prophecy::sketch

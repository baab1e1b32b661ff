// The canonicalisation profile: what happens to each header field, in both directions. All members
// of a group use the same one; its id is part of every canonical form. docs/canonical-form.md
// holds the table with the reason for each field.
//
// A value that does not change once it is made; may be shared by threads. Names are asked for in
// lower case.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "canonical/name_table.hpp"
#include "canonical/origin_authorities.hpp"

namespace prophecy {
class ConfigSection;
struct Key;
}  // namespace prophecy

namespace prophecy::sketch {

// What happens to a field of a request that is a read. (Writes forward every end-to-end field,
// since nothing of them enters the history.)
enum class RequestRule : std::uint8_t {
  keyed,       // covered by s(q) and forwarded
  forwarded,   // forwarded for the origin's logs, not covered: the visible exception
  generated,   // never the client's: replaced by the sketcher's own, or by nothing
  dropped,     // not forwarded on a read: the default for an unknown field
  hop_by_hop,  // belongs to the connection
};

// What happens to a field of an answer.
enum class AnswerRule : std::uint8_t {
  covered,      // covered by s(r) and delivered: the default for an unknown field
  regenerated,  // removed; the sketcher writes its own or none
  dropped,      // removed
  hop_by_hop,   // belongs to the connection
  internal,     // control between an origin and its own front end: removed, and told of
};

// Of a field that the profile has no rule for by name.
constexpr std::uint16_t kUnnumbered = UINT16_MAX;

// A rule, and its number among all rules of the profile: what FieldCounters count by.
template <class Rule>
struct NumberedRule {
  Rule rule;
  std::uint16_t number = kUnnumbered;
};

// A rule, for people.
struct RuleText {
  bool in_answers = false;
  std::string name;  // of a prefix: with a * behind it
  std::string_view action;
};

// No Last-Modified is later than this.
struct LastModifiedMax {
  std::chrono::sys_seconds time;
  std::string text;  // as the file says it
};

// The names of fields that the configuration lists, in lower case; what is not a name is noted as a
// mistake.
[[nodiscard]] std::vector<std::string> read_field_names(ConfigSection& section, const Key& key);

class Profile {
 public:
  Profile();  // the defaults
  // Reads [canonical]: additions to the defaults, checked against what may not be changed.
  [[nodiscard]] static Profile from_config(ConfigSection section);

  [[nodiscard]] RequestRule request_rule(std::string_view name) const;
  [[nodiscard]] AnswerRule answer_rule(std::string_view name) const;
  [[nodiscard]] NumberedRule<RequestRule> numbered_request_rule(std::string_view name) const;
  [[nodiscard]] NumberedRule<AnswerRule> numbered_answer_rule(std::string_view name) const;
  [[nodiscard]] std::size_t rule_count() const;
  // By number.
  [[nodiscard]] std::vector<RuleText> rules() const;
  // A 200 to a read whose body is larger than `whole_answer_bytes` is agreed on, and verified, in
  // blocks of `block_bytes`.
  [[nodiscard]] std::uint64_t whole_answer_bytes() const { return whole_answer_bytes_; }
  [[nodiscard]] std::uint32_t block_bytes() const { return block_bytes_; }
  // Clients' User-Agent is forwarded without being covered by s(q).
  [[nodiscard]] bool forwards_user_agent() const { return forwards_user_agent_; }
  // s(q) covers the field that tells origins of the client's address, too.
  [[nodiscard]] bool keys_client_address() const { return keys_client_address_; }
  // An answer with Set-Cookie may be remembered, and given to all clients: the service sets the
  // same cookie for all of them.
  [[nodiscard]] bool remembers_cookies() const { return remembers_cookies_; }
  [[nodiscard]] const std::vector<OriginAuthority>& origin_authorities() const {
    return origin_authorities_;
  }
  [[nodiscard]] const std::optional<LastModifiedMax>& last_modified_max() const {
    return last_modified_max_;
  }
  // SHA-256 of all rules and of the version of the canonical form.
  [[nodiscard]] const Sha256::Digest& id() const { return id_; }

  // Whether an origin's answer can depend on the field although s(q) does not cover it.
  [[nodiscard]] bool is_seen_unkeyed(std::string_view name) const;
  // Whether Connection may name the field as one of its own. What the profile knows as end-to-end
  // or as framing may not be made to vanish like that.
  [[nodiscard]] bool may_nominate_in_request(std::string_view name) const;
  [[nodiscard]] bool may_nominate_in_answer(std::string_view name) const;

 private:
  [[nodiscard]] bool knows_request_field(std::string_view name) const;
  [[nodiscard]] bool knows_answer_field(std::string_view name) const;
  void add_keyed(ConfigSection& section);
  void add_forwarded(ConfigSection& section);
  void add_dropped(ConfigSection& section);
  void read_sizes(ConfigSection& section);
  void read_origin_authorities(ConfigSection& section);
  void read_last_modified_max(ConfigSection& section);
  void settle();  // what follows from the rules
  void compute_id();

  NameTable request_rules_;
  NameTable answer_rules_;
  std::uint64_t whole_answer_bytes_ = 16 << 20;
  std::uint32_t block_bytes_ = 256 << 10;
  bool keys_client_address_ = false;
  bool remembers_cookies_ = false;
  bool forwards_user_agent_ = true;
  std::vector<OriginAuthority> origin_authorities_;  // sorted
  std::optional<LastModifiedMax> last_modified_max_;
  Sha256::Digest id_{};
};

}  // namespace prophecy::sketch

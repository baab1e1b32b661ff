// `RuleCandidates` collects, for a proposed [canonical] section, which settings would make pairs of
// answers equal that differ in their heads alone, and which settings would let answers be sketched
// that never are.
//
// No I/O. For one thread at a time. Its memory is bounded.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "canonical/profile.hpp"
#include "measurement/analysis/answer.hpp"

namespace prophecy::measurement {

class RuleCandidates {
 public:
  // The most names that a setting may hold.
  static constexpr std::size_t kValuesMax = 64;
  static constexpr std::size_t kRuleSetsMax = 1000;

  // The profile is the one by which the answers were sketched.
  explicit RuleCandidates(sketch::Profile profile = {}) : profile_(std::move(profile)) {}

  // A transition with equal bodies: the fields of both answers, as in Answer.
  void add_transition(std::string_view before, std::string_view after);
  // An answer of the kind sets_cookie or varies.
  void add_unsketched(AnswerKind kind, std::string_view fields);

  // Transitions that rules make equal pairs, by these rules: "last_modified_max",
  // "origin_authorities" and names of fields to be dropped, sorted and joined by commas.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& transitions() const {
    return transitions_;
  }
  // All of them together.
  [[nodiscard]] std::uint64_t settled() const;

  [[nodiscard]] const std::set<std::string>& dropped() const { return dropped_; }
  [[nodiscard]] const std::set<std::string>& authorities() const { return authorities_; }
  // The earliest Last-Modified of the transitions that a limit settles.
  [[nodiscard]] std::optional<std::chrono::sys_seconds> last_modified_max() const {
    return last_modified_max_;
  }

  // Answers with Set-Cookie; with a Vary that names a field which could be keyed, or the client's
  // address.
  [[nodiscard]] std::uint64_t sets_cookie() const { return sets_cookie_; }
  [[nodiscard]] std::uint64_t varies() const { return varies_; }
  [[nodiscard]] const std::set<std::string>& keyed() const { return keyed_; }
  [[nodiscard]] bool varies_by_address() const { return varies_by_address_; }

 private:
  struct Settled;
  [[nodiscard]] bool settle(const std::string& name, const std::string* before,
                            const std::string* after, Settled& settled) const;
  [[nodiscard]] bool fits(const Settled& settled) const;

  sketch::Profile profile_;
  std::map<std::string, std::uint64_t> transitions_;
  std::set<std::string> dropped_;
  std::set<std::string> authorities_;
  std::optional<std::chrono::sys_seconds> last_modified_max_;
  std::uint64_t sets_cookie_ = 0;
  std::uint64_t varies_ = 0;
  std::set<std::string> keyed_;
  bool varies_by_address_ = false;
};

// Whether the authority is one by which servers know each other, and no client: an address, a name
// without a dot, or one below a domain that public names do not have.
[[nodiscard]] bool is_internal_authority(std::string_view authority);

}  // namespace prophecy::measurement

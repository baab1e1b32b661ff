// The default profile as data. docs/canonical-form.md gives the reason for each line. Internal to
// sketch/.
#pragma once

#include <span>
#include <string_view>

#include "canonical/profile.hpp"

namespace prophecy::sketch {

struct NamedRequestRule {
  std::string_view name;  // lower case
  RequestRule rule;
};

struct NamedAnswerRule {
  std::string_view name;  // lower case
  AnswerRule rule;
};

// A name with a rule of its own is settled: configuration changes it only where
// Profile::from_config says so. Prefixes are asked after names.
[[nodiscard]] std::span<const NamedRequestRule> default_request_rules();
[[nodiscard]] std::span<const NamedRequestRule> request_prefix_rules();
[[nodiscard]] std::span<const NamedAnswerRule> default_answer_rules();
[[nodiscard]] std::span<const NamedAnswerRule> answer_prefix_rules();

}  // namespace prophecy::sketch

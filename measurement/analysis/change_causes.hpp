// `ChangeCauses` sums up why answers changed, from those transitions whose two answers were at
// hand: which fields of the head differ, which words of the body; and keeps the differing text of
// the URLs that changed most.
//
// No I/O. For one thread at a time. Its memory is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measurement/analysis/token_difference.hpp"
#include "measurement/analysis/url_table.hpp"

namespace prophecy::measurement {

// An answer on one side of a transition.
struct ChangeSide {
  std::string_view fields;  // as in Answer
  std::string_view body;
};

// The last transition of a URL, as text.
struct ChangeExample {
  std::uint64_t transitions = 0;    // that were looked at
  std::vector<std::string> fields;  // that differ
  std::string before;  // of the body, around the first difference; cut where it is long
  std::string after;
};

constexpr std::size_t kExamplesMax = 1000;
constexpr std::size_t kExampleBytesMax = 160;
constexpr std::size_t kFieldSetsMax = 1000;

class ChangeCauses {
 public:
  void add(UrlNumber url, const ChangeSide& before, const ChangeSide& after);

  // Transitions whose bodies differ, and could be followed word by word.
  [[nodiscard]] std::uint64_t bodies() const { return bodies_; }
  [[nodiscard]] std::uint64_t followed() const { return followed_; }
  // The followed ones without a differing word of the class `other`.
  [[nodiscard]] std::uint64_t avoidable() const { return avoidable_; }
  // By class: words, and transitions with at least one.
  [[nodiscard]] const std::array<std::uint64_t, kTokenClasses>& words() const { return words_; }
  [[nodiscard]] const std::array<std::uint64_t, kTokenClasses>& transitions() const {
    return transitions_;
  }
  // Transitions with equal bodies, by the names of the fields that differ, comma-separated.
  [[nodiscard]] const std::map<std::string, std::uint64_t>& by_fields() const { return by_fields_; }
  [[nodiscard]] const std::unordered_map<UrlNumber, ChangeExample>& examples() const {
    return examples_;
  }

 private:
  void count_body(const TokenDifference& difference);
  [[nodiscard]] ChangeExample* example_of(UrlNumber url);

  std::uint64_t bodies_ = 0;
  std::uint64_t followed_ = 0;
  std::uint64_t avoidable_ = 0;
  std::array<std::uint64_t, kTokenClasses> words_{};
  std::array<std::uint64_t, kTokenClasses> transitions_{};
  std::map<std::string, std::uint64_t> by_fields_;
  std::unordered_map<UrlNumber, ChangeExample> examples_;
};

// Names of the fields that differ between two texts as in Answer, sorted; "status" among them.
[[nodiscard]] std::vector<std::string> differing_fields(std::string_view before,
                                                        std::string_view after);

}  // namespace prophecy::measurement

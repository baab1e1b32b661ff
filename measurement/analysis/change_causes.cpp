#include "measurement/analysis/change_causes.hpp"

#include <algorithm>
#include <set>

namespace prophecy::measurement {
namespace {

constexpr std::size_t kContextBytes = 32;

// The differing text, with a little that stands before it.
std::string excerpt(std::string_view body, std::size_t begin, std::size_t end) {
  const std::size_t from = begin - std::min(begin, kContextBytes);
  return std::string(body.substr(from, std::min(end - from + kContextBytes, kExampleBytesMax)));
}

std::set<std::string_view> lines_of(std::string_view text) {
  std::set<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::vector<std::string> differing_fields(std::string_view before, std::string_view after) {
  const auto old_lines = lines_of(before);
  const auto new_lines = lines_of(after);
  std::vector<std::string_view> lines;
  std::set_symmetric_difference(old_lines.begin(), old_lines.end(), new_lines.begin(),
                                new_lines.end(), std::back_inserter(lines));
  std::set<std::string> names;
  for (const std::string_view line : lines)
    names.emplace(line.substr(0, line.find(':')));
  return {names.begin(), names.end()};
}

ChangeExample* ChangeCauses::example_of(UrlNumber url) {
  if (const auto found = examples_.find(url); found != examples_.end()) return &found->second;
  if (examples_.size() >= kExamplesMax) {
    // A URL takes the place of one that changed less, once it comes again and again.
    const auto least = std::min_element(examples_.begin(), examples_.end(),
                                        [](const auto& one, const auto& other) {
                                          return one.second.transitions < other.second.transitions;
                                        });
    if (least->second.transitions > 1) {
      --least->second.transitions;
      return nullptr;
    }
    examples_.erase(least);
  }
  return &examples_[url];
}

void ChangeCauses::add(UrlNumber url, const ChangeSide& before, const ChangeSide& after) {
  std::vector<std::string> fields = differing_fields(before.fields, after.fields);
  TokenDifference difference;
  const bool differs = before.body != after.body;
  if (differs) {
    difference = difference_of(before.body, after.body);
    count_body(difference);
  } else {
    std::string names;
    for (const std::string& field : fields)
      names.append(names.empty() ? "" : ",").append(field);
    if (by_fields_.size() < kFieldSetsMax || by_fields_.contains(names)) ++by_fields_[names];
  }
  ChangeExample* example = example_of(url);
  if (example == nullptr) return;
  ++example->transitions;
  example->fields = std::move(fields);
  if (!differs) return;
  example->before = excerpt(before.body, difference.begin, difference.end_before);
  example->after = excerpt(after.body, difference.begin, difference.end_after);
}

void ChangeCauses::count_body(const TokenDifference& difference) {
  ++bodies_;
  if (!difference.followed) return;
  ++followed_;
  if (difference.of(TokenClass::other) == 0) ++avoidable_;
  for (std::size_t kind = 0; kind < kTokenClasses; ++kind) {
    words_[kind] += difference.tokens[kind];
    if (difference.tokens[kind] > 0) ++transitions_[kind];
  }
}

}  // namespace prophecy::measurement

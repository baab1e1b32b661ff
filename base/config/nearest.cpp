#include "base/config/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace prophecy {
namespace {

constexpr std::size_t kLengthMax = 64;  // no key is longer

// Letters to insert, to remove, to replace, or to exchange with the next one.
std::size_t distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before(other.size() + 1);
  std::vector<std::size_t> last(other.size() + 1);
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (std::size_t i = 0; i < one.size(); ++i) {
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = last[j] + (one[i] == other[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, last[j + 1] + 1, row[j] + 1});
      const bool exchanged = i > 0 && j > 0 && one[i] == other[j - 1] && one[i - 1] == other[j];
      if (exchanged) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLengthMax) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : names) {
    const std::size_t changes = distance(name, candidate);
    // A name of which no letter is left is another name.
    if (changes >= best_distance || changes >= std::max(name.size(), candidate.size())) continue;
    best_distance = changes;
    best = candidate;
  }
  return best;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string alternatives(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    const bool is_last = i + 1 == names.size();
    text += (i == 0 ? "" : is_last ? " or " : ", ") + names[i];
  }
  return text + (names.size() > kShown ? ", ..." : "");
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& names) {
  const std::string meant = nearest(name, names);
  return meant.empty() ? std::string() : "; did you mean \"" + meant + "\"?";
}

}  // namespace prophecy

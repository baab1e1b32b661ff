#include "simulation/program/shrink.hpp"

#include <algorithm>

namespace prophecy::simulation {
namespace {

// All but the part'th of `parts` nearly equal parts.
Numbers without_part(const Numbers& numbers, std::size_t part, std::size_t parts) {
  const std::size_t begin = numbers.size() * part / parts;
  const std::size_t end = numbers.size() * (part + 1) / parts;
  Numbers rest(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), numbers.begin() + static_cast<std::ptrdiff_t>(end), numbers.end());
  return rest;
}

}  // namespace

Numbers shrink(const Numbers& all, const std::function<bool(const Numbers&)>& fails,
               std::uint32_t tries_max) {
  Numbers smallest = all;
  std::size_t parts = 2;
  std::uint32_t tries = 0;
  while (!smallest.empty()) {
    parts = std::min(parts, smallest.size());
    bool reduced = false;
    for (std::size_t part = 0; part < parts && !reduced; ++part) {
      Numbers rest = without_part(smallest, part, parts);
      if (++tries > tries_max) return smallest;
      reduced = fails(rest);
      if (reduced) smallest = std::move(rest);
    }
    if (reduced) {
      parts = std::max<std::size_t>(parts - 1, 2);
    } else if (parts < smallest.size()) {
      parts *= 2;
    } else {
      break;
    }
  }
  return smallest;
}

}  // namespace prophecy::simulation

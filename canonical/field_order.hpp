// The one order of fields in every canonical form: by name, and for one name as they arrived; and
// how repeats of a list become one.
// Internal to sketch/.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.hpp"

namespace prophecy::sketch {

// Sorts positions in `fields`. Does not allocate, which std::stable_sort would.
inline void sort_by_name(const http::FieldList& fields, std::vector<std::size_t>& positions) {
  std::sort(positions.begin(), positions.end(), [&](std::size_t a, std::size_t b) {
    const int order = fields.name(a).compare(fields.name(b));
    return order != 0 ? order < 0 : a < b;
  });
}

// Empty parts of a list mean nothing (RFC 9110, 5.6.1) and are left out.
inline void append_list_part(std::string& list, std::string_view separator, std::string_view part) {
  if (!list.empty() && !part.empty()) list.append(separator);
  list.append(part);
}

}  // namespace prophecy::sketch

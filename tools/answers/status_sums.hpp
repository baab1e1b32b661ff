// `sum_status` makes one status of those of several members of a ring: a row for each member,
// their counts added up, and a row for each route and each origin of all.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace prophecy::tools {

struct MemberStatus {
  std::string member;
  nlohmann::ordered_json status;  // null: there is a problem
  std::string problem;
};

// {"members": [...], "total": {...}, "routes": [...], "origins": [...]}. Numbers that are no counts
// are left out where members may differ; texts that differ are shown as "A / B". A status may have
// any shape: what is not as ours is left out.
[[nodiscard]] nlohmann::ordered_json sum_status(std::span<const MemberStatus> members);

}  // namespace prophecy::tools

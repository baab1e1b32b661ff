#include "sketcher/answer/answer_rules.hpp"

#include <algorithm>
#include <iterator>

#include "canonical/profile.hpp"

namespace prophecy::sketcher {
namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

const OwnPage* AnswerRules::page_for(std::uint16_t status, std::string_view reason) const {
  if (reason == kMaintenance && maintenance_page) return &*maintenance_page;
  const auto found = std::find_if(pages.begin(), pages.end(),
                                  [&](const OwnPage& page) { return page.status == status; });
  return found == pages.end() ? nullptr : &*found;
}

std::string_view why_not_ruled(std::string_view name) {
  static const sketch::Profile defaults;
  switch (defaults.answer_rule(name)) {
    case sketch::AnswerRule::regenerated:
      return "the sketcher writes itself";
    case sketch::AnswerRule::hop_by_hop:
      return "belongs to the connection";
    case sketch::AnswerRule::internal:
      return "controls a front end";
    case sketch::AnswerRule::dropped:
      if (name.starts_with("prophecy-")) return "the sketcher writes itself";
      break;
    case sketch::AnswerRule::covered:
      break;
  }
  if (is_one_of(name, {"content-encoding", "content-range"})) return "says how the body is coded";
  if (is_one_of(name, {"location", "content-location"})) return "differs from answer to answer";
  if (name == "set-cookie") return "is for one client";
  if (name == "vary") return "tells caches which answers are another client's as well";
  if (name == "www-authenticate") return "asks for credentials";
  return "";
}

std::string_view why_not_set(std::string_view name) {
  if (const std::string_view why = why_not_ruled(name); !why.empty()) return why;
  // We decide by the origin's.
  if (name == "last-modified") return "conditions of requests are compared with as origins say it";
  return "";
}

// Those that HTTP, and browsers, know one value of. Which of two counts, each reader decides.
std::string_view why_not_added(std::string_view name) {
  if (const std::string_view why = why_not_set(name); !why.empty()) return why;
  static constexpr std::string_view kSingle[] = {
      "access-control-allow-credentials",
      "access-control-allow-origin",
      "access-control-max-age",
      "content-disposition",
      "content-md5",
      "content-type",
      "cross-origin-embedder-policy",
      "cross-origin-opener-policy",
      "cross-origin-resource-policy",
      "expires",
      "refresh",
      "retry-after",
      "strict-transport-security",
      "x-content-type-options",
      "x-frame-options",
  };
  const bool is_single =
      std::find(std::begin(kSingle), std::end(kSingle), name) != std::end(kSingle);
  return is_single ? "has one value, so it can be set alone" : "";
}

bool is_own_answers(std::string_view name) {
  return is_one_of(name, {"allow", "cache-control", "content-type", "expires", "retry-after"});
}

}  // namespace prophecy::sketcher

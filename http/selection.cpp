#include "http/selection.hpp"

#include <optional>

#include "http/http_date.hpp"

namespace prophecy::http {
namespace {

using Kind = Selection::Kind;

// The fields in question. If-Range counts with a tag only: a date of whole seconds is a weak
// validator, and parts of two versions must not be put together (RFC 9110, 13.1.5). A list may come
// in several fields; of anything else two are none.
struct Conditions {
  bool has_if_match = false;
  bool matches = false;
  bool has_if_none_match = false;
  bool none_matches = true;
  std::optional<std::string_view> if_modified_since;
  std::optional<std::string_view> if_unmodified_since;
  std::optional<std::string_view> if_range;
  std::optional<std::string_view> range;
  bool has_repeated_range = false;
};

void note(Conditions& conditions, std::string_view name, std::string_view value,
          std::string_view tag) {
  const auto once = [&](std::optional<std::string_view>& field) {
    field = field ? std::string_view() : value;  // an empty one is no date
  };
  if (name == "if-match") {
    conditions.has_if_match = true;
    conditions.matches = conditions.matches || names_tag(value, tag, TagComparison::strong);
  } else if (name == "if-none-match") {
    conditions.has_if_none_match = true;
    conditions.none_matches =
        conditions.none_matches && !names_tag(value, tag, TagComparison::weak);
  } else if (name == "if-modified-since") {
    once(conditions.if_modified_since);
  } else if (name == "if-unmodified-since") {
    once(conditions.if_unmodified_since);
  } else if (name == "if-range") {
    once(conditions.if_range);
  } else if (name == "range") {
    conditions.has_repeated_range = conditions.range.has_value();
    conditions.range = value;
  }
}

Conditions read_conditions(const FieldList& request, std::string_view tag) {
  Conditions conditions;
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::string_view name = request.name(i);
    if (name.starts_with("if-") || name == "range") {
      note(conditions, name, request.value(i), tag);
    }
  }
  return conditions;
}

bool is_changed_since(std::string_view last_modified, std::string_view date, bool otherwise) {
  const auto changed = parse_http_date(last_modified);
  const auto since = parse_http_date(date);
  return changed && since ? *changed > *since : otherwise;
}

Selection select_range(const Conditions& conditions, const Representation& representation) {
  const bool applies = conditions.range && !conditions.has_repeated_range &&
                       (!conditions.if_range || *conditions.if_range == representation.etag);
  if (!applies) return {};
  const ByteRange range = parse_byte_range(*conditions.range, representation.length);
  switch (range.kind) {
    case ByteRange::Kind::whole:
      return {};
    case ByteRange::Kind::part:
      return {.kind = Kind::part, .first = range.first, .size = range.size};
    case ByteRange::Kind::unsatisfiable:
      return {.kind = Kind::unsatisfiable};
  }
  return {};
}

}  // namespace

bool names_tag(std::string_view list, std::string_view tag, TagComparison comparison) {
  while (!list.empty()) {
    const std::size_t start = list.find_first_not_of(" \t,");
    if (start == std::string_view::npos) return false;
    list.remove_prefix(start);
    if (list.front() == '*') return true;
    const bool weak = list.starts_with("W/");
    if (weak) list.remove_prefix(2);
    const bool comparable = !weak || comparison == TagComparison::weak;
    if (comparable && !tag.empty() && list.starts_with(tag)) return true;
    // A tag may hold a comma: skip to behind its closing quote.
    const std::size_t close = list.starts_with('"') ? list.find('"', 1) : list.find(',');
    if (close == std::string_view::npos) return false;
    list.remove_prefix(close + 1);
  }
  return false;
}

Selection select(const FieldList& request, bool is_head, const Representation& representation) {
  const Conditions conditions = read_conditions(request, representation.etag);
  if (conditions.has_if_match) {
    if (!is_head && !conditions.matches) return {.kind = Kind::failed};
  } else if (conditions.if_unmodified_since &&
             is_changed_since(representation.last_modified, *conditions.if_unmodified_since,
                              false)) {
    return {.kind = Kind::failed};
  }
  if (conditions.has_if_none_match) {
    if (!conditions.none_matches) return {.kind = Kind::not_modified};
  } else if (conditions.if_modified_since &&
             !is_changed_since(representation.last_modified, *conditions.if_modified_since, true)) {
    return {.kind = Kind::not_modified};
  }
  return is_head ? Selection{} : select_range(conditions, representation);
}

}  // namespace prophecy::http

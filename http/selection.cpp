#include "http/selection.hpp"

#include <optional>

#include "http/http_date.hpp"

namespace prophecy::http {
namespace {

// The fields in question. If-Range counts with a tag only: a date of whole seconds is a weak
// validator, and parts of two versions must not be put together (RFC 9110, 13.1.5). A list may come
// in several fields; of anything else two are none.
struct Conditions {
  std::optional<bool> if_match;       // whether it names the tag
  std::optional<bool> if_none_match;  // likewise
  std::optional<std::string_view> if_modified_since;
  std::optional<std::string_view> if_unmodified_since;
  std::optional<std::string_view> if_range;
  std::optional<std::string_view> range;
};

bool is_condition(std::string_view name) {
  return name.starts_with("if-") || name == "range";
}

void note(Conditions& conditions, std::string_view name, std::string_view value,
          std::string_view tag) {
  const auto once = [&](std::optional<std::string_view>& field) {
    field = field ? std::string_view() : value;  // an empty one is no date, tag or range
  };
  if (name == "if-match") {
    conditions.if_match =
        conditions.if_match.value_or(false) || names_tag(value, tag, TagComparison::strong);
  } else if (name == "if-none-match") {
    conditions.if_none_match =
        conditions.if_none_match.value_or(false) || names_tag(value, tag, TagComparison::weak);
  } else if (name == "if-modified-since") {
    once(conditions.if_modified_since);
  } else if (name == "if-unmodified-since") {
    once(conditions.if_unmodified_since);
  } else if (name == "if-range") {
    once(conditions.if_range);
  } else if (name == "range") {
    once(conditions.range);
  }
}

Conditions read_conditions(const FieldList& request, std::string_view tag) {
  Conditions conditions;
  for (std::size_t i = 0; i < request.size(); ++i) {
    const std::string_view name = request.name(i);
    if (is_condition(name)) note(conditions, name, request.value(i), tag);
  }
  return conditions;
}

bool is_changed_since(std::string_view last_modified, std::string_view date, bool otherwise) {
  const auto changed = parse_http_date(last_modified);
  const auto since = parse_http_date(date);
  return changed && since ? *changed > *since : otherwise;
}

Selection select_range(const Conditions& conditions, const Representation& representation) {
  if (!conditions.range) return {};
  const bool has_tag = !representation.etag.empty();
  if (conditions.if_range && !(has_tag && *conditions.if_range == representation.etag)) return {};
  const ByteRange range = parse_byte_range(*conditions.range, representation.length);
  switch (range.kind) {
    case ByteRange::Kind::whole:
      return {};
    case ByteRange::Kind::part:
      return {.kind = Selection::Kind::part, .first = range.first, .size = range.size};
    case ByteRange::Kind::unsatisfiable:
      return {.kind = Selection::Kind::unsatisfiable};
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

bool is_conditional(const FieldList& request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (is_condition(request.name(i))) return true;
  }
  return false;
}

Selection select(const FieldList& request, bool is_head, const Representation& representation) {
  const Conditions conditions = read_conditions(request, representation.etag);
  if (conditions.if_match) {
    if (!is_head && !*conditions.if_match) return {.kind = Selection::Kind::failed};
  } else if (conditions.if_unmodified_since &&
             is_changed_since(representation.last_modified, *conditions.if_unmodified_since,
                              false)) {
    return {.kind = Selection::Kind::failed};
  }
  if (conditions.if_none_match) {
    if (*conditions.if_none_match) return {.kind = Selection::Kind::not_modified};
  } else if (conditions.if_modified_since &&
             !is_changed_since(representation.last_modified, *conditions.if_modified_since, true)) {
    return {.kind = Selection::Kind::not_modified};
  }
  return is_head ? Selection{} : select_range(conditions, representation);
}

}  // namespace prophecy::http

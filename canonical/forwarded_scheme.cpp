#include "canonical/forwarded_scheme.hpp"

#include "canonical/forwarded_hops.hpp"
#include "http/text.hpp"

namespace prophecy::sketch {

std::string_view forwarded_scheme(const http::FieldList& fields, ForwardingStyle style) {
  const bool is_one_field = style == ForwardingStyle::forwarded;
  LastHops said;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != (is_one_field ? "forwarded" : "x-forwarded-proto")) continue;
    if (!is_one_field) {
      add_x_forwarded_hops(fields.value(i), said);
    } else if (!add_forwarded_hops(fields.value(i), said, "proto")) {
      return {};
    }
  }
  if (said.size() == 0) return {};
  for (const std::string_view scheme : {"http", "https"}) {
    if (http::equal_ignoring_case(said.from_right(0), scheme)) return scheme;
  }
  return {};
}

}  // namespace prophecy::sketch

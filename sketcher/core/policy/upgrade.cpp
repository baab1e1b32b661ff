#include "sketcher/core/policy/upgrade.hpp"

#include <algorithm>
#include <array>

#include "http/text.hpp"

namespace prophecy::sketcher {
namespace {

std::string_view name_of(std::string_view protocol) {
  return protocol.substr(0, protocol.find('/'));
}

bool is_allowed(std::string_view protocol, std::span<const std::string> allowed) {
  if (!is_protocol(protocol)) return false;
  return std::any_of(allowed.begin(), allowed.end(), [&](std::string_view wanted) {
    const bool any_version = wanted.find('/') == std::string_view::npos;
    return http::equal_ignoring_case(wanted, any_version ? name_of(protocol) : protocol);
  });
}

}  // namespace

bool is_protocol(std::string_view text) {
  const std::string_view name = name_of(text);
  return http::is_token(name) &&
         (name.size() == text.size() || http::is_token(text.substr(name.size() + 1)));
}

bool may_never_pass(std::string_view protocol) {
  static constexpr std::array<std::string_view, 6> kNames = {"http", "h2",  "h2c",
                                                             "h3",   "tls", "http2-settings"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    return http::equal_ignoring_case(name, name_of(protocol));
  });
}

std::string_view requested_upgrade(const http::Request& request,
                                   std::span<const std::string> allowed) {
  const http::FieldList& fields = request.fields;
  if (request.method != "GET" || request.version_minor < 1) return {};
  if (!http::nominates(fields, "upgrade")) return {};
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields.name(i) != "upgrade") continue;
    std::string_view rest = fields.value(i);
    std::string_view protocol;
    while (http::next_list_element(rest, protocol)) {
      if (is_allowed(protocol, allowed)) return protocol;
    }
  }
  return {};
}

}  // namespace prophecy::sketcher

// What a reference, as Location has it, leads to (RFC 3986, 5.2), if that is at the same scheme and
// authority as what it was found under.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace prophecy::http {

// Of a request that was answered, in its one form (http/authority.hpp).
struct BaseUri {
  std::string_view scheme;     // "http" or "https"
  std::string_view authority;  // normalised for this scheme
  std::string_view target;     // in origin form, or "*"
};

// The target, in origin form, of a request for what `reference` leads to from there: without its
// fragment, and without dot segments, as clients would send it. Nothing if that is elsewhere, if a
// request for it would be refused, or if the reference makes no sense or has more than `bytes_max`
// bytes.
[[nodiscard]] std::optional<std::string> resolve_at_same_origin(const BaseUri& base,
                                                                std::string_view reference,
                                                                std::size_t bytes_max);

}  // namespace prophecy::http

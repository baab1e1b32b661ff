// Which change of protocol a client may have (RFC 9110, 7.8): a tunnel's bytes pass unseen, so a
// route names the protocols that it lets through. An Upgrade field is a list, in the client's order
// of preference; of it, the origin gets the one protocol that was found here.
//
// Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/message.hpp"

namespace prophecy::sketcher {

// A protocol's name, with or without "/" and a version.
[[nodiscard]] bool is_protocol(std::string_view text);

// Protocols that carry HTTP requests, or hide what they carry: past the first request, no route's
// rule would hold. No route may let them through. REQUIRES: is_protocol().
[[nodiscard]] bool may_never_pass(std::string_view protocol);

// The first protocol that the request asks for and `allowed` has: by its name in any version, or in
// the version that `allowed` says; letters' case is ignored. Empty: there is none, and the request
// is the ordinary one that it also is. The view is into `request`.
[[nodiscard]] std::string_view requested_upgrade(const http::Request& request,
                                                 std::span<const std::string> allowed);

}  // namespace prophecy::sketcher

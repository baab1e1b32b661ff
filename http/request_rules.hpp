// What a request's head must satisfy beyond its grammar, whichever protocol it has come by.
// Internal to http/.
#pragma once

#include "http/parser.hpp"

namespace prophecy::http {

// What may stand in a request target: visible ASCII but for the fragment's "#".
[[nodiscard]] bool is_target_char(char c);

// One of the methods that RequestParser knows; what goes to an origin is parsed there again.
[[nodiscard]] bool is_known_method(std::string_view method);

// Method, target and Host. Without a reason: nothing is wrong.
[[nodiscard]] ParseFailure check_request(const Request& request);

}  // namespace prophecy::http

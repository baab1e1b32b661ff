// `PathClass` is the class of a request's path, for OriginPace: paths fall into classes by a keyed
// hash.
#pragma once

#include <cstdint>

namespace prophecy::http {

using PathClass = std::uint16_t;

}  // namespace prophecy::http

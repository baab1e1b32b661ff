// The scheme by which a client has come to the trusted peer in front, as that peer says.
#pragma once

#include <string_view>

#include "canonical/forwarding.hpp"

namespace prophecy::sketch {

// "http" or "https", static text; empty: the peer does not say. By X-Forwarded-Proto or Forwarded,
// of the configured style; of a list the rightmost counts, which the peer itself has added.
// Requires a peer that is trusted.
[[nodiscard]] std::string_view forwarded_scheme(const http::FieldList& fields,
                                                ForwardingStyle style);

}  // namespace prophecy::sketch

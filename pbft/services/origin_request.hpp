// The request that an origin gets for an operation: the operation's own text, without any field
// whose name begins with "Prophecy-" (or "prophecy_", as CGI has it), which nobody but this agent
// may set, and for an ordered one with what was agreed for it:
//
//   Prophecy-Time: 2026-11-21T15:04:05.000000123Z     never before that of an earlier request
//   Prophecy-Seed: 64 hexadecimal digits              another for each request
//   Prophecy-Sequence: 4294967296                     its sigma: rises from request to request
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pbft/core/state/actions.hpp"

namespace prophecy::pbft {

// RFC 3339 in UTC, always with nine digits behind the point, so that texts compare like times.
[[nodiscard]] std::string format_agreed_time(std::uint64_t nanoseconds);

// Requires an operation that is one whole request. Of one that is too large for memory, the head.
[[nodiscard]] std::string origin_request(const Execution& execution);

}  // namespace prophecy::pbft

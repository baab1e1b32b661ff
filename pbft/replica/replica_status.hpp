// What `prophecyctl status` shows of a replica.
#pragma once

#include <string>

#include "pbft/replica/replica_parts.hpp"

namespace prophecy::pbft {

// One line of JSON.
[[nodiscard]] std::string status_json(const ReplicaParts& parts);

}  // namespace prophecy::pbft

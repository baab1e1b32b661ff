// Commands on an agent's admin socket, by which its operator adopts a state:
//
//   {"command":"status"}
//   {"command":"adoption"}       which states the replicas tell, and how far an adoption is
//   {"command":"look"}           looks at the present state, and tells it to the others
//   {"command":"adopt","state":HEX,"at":NUMBER,"except":[REPLICA, ...]}
//
// All but the first are answered with the adoption's status, or {"error": ...}.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "pbft/core/state/adoption_status.hpp"

namespace prophecy::pbft {

struct ReplicaCommands {
  std::function<std::string()> status;
  std::function<AdoptionStatus()> adoption;
  std::function<Result<>()> look;
  std::function<Result<>(const AdoptionOrder&)> adopt;
};

[[nodiscard]] std::string answer_replica_command(std::string_view request_line,
                                                 const ReplicaCommands& commands);

}  // namespace prophecy::pbft

#include "replica_client/core/call.hpp"

#include "base/assert.hpp"

namespace prophecy::replica_client {

std::string_view to_string(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
      return "too-few-replicas";
    case ReplicatedFailure::no_agreement:
      return "no-agreement";
    case ReplicatedFailure::overloaded:
      return "overloaded";
    case ReplicatedFailure::writes_refused:
      return "writes-refused";
    case ReplicatedFailure::uncertain_write:
      return "uncertain-write";
  }
  return "";
}

std::uint16_t status_of(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
    case ReplicatedFailure::overloaded:
      return 503;
    case ReplicatedFailure::no_agreement:
    case ReplicatedFailure::uncertain_write:
      return 502;
    case ReplicatedFailure::writes_refused:
      return 405;
  }
  UNREACHABLE();
}

}  // namespace prophecy::replica_client

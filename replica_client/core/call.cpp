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
    case ReplicatedFailure::view_too_old:
      return "view-too-old";
    case ReplicatedFailure::view_too_new:
      return "view-too-new";
  }
  return "";
}

std::uint16_t status_of(ReplicatedFailure failure) {
  switch (failure) {
    case ReplicatedFailure::too_few_replicas:
    case ReplicatedFailure::overloaded:
    case ReplicatedFailure::view_too_old:
    case ReplicatedFailure::view_too_new:
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

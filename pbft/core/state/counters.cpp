#include "pbft/core/state/counters.hpp"

namespace prophecy::pbft {

std::string_view to_string(DropReason reason) {
  switch (reason) {
    case DropReason::malformed:
      return "malformed";
    case DropReason::bad_length:
      return "bad_length";
    case DropReason::unknown_sender:
      return "unknown_sender";
    case DropReason::no_session_key:
      return "no_session_key";
    case DropReason::bad_mac:
      return "bad_mac";
    case DropReason::bad_signature:
      return "bad_signature";
    case DropReason::wrong_view:
      return "wrong_view";
    case DropReason::outside_water_marks:
      return "outside_water_marks";
    case DropReason::conflicting:
      return "conflicting";
    case DropReason::duplicate:
      return "duplicate";
    case DropReason::stale_timestamp:
      return "stale_timestamp";
    case DropReason::time_refused:
      return "time_refused";
    case DropReason::queue_full:
      return "queue_full";
    case DropReason::not_serving:
      return "not_serving";
    case DropReason::rate_limited:
      return "rate_limited";
    case DropReason::signature_wanted:
      return "signature_wanted";
    case DropReason::not_sealed:
      return "not_sealed";
    case DropReason::not_wanted:
      return "not_wanted";
    case DropReason::count_:
      break;
  }
  return "unknown";
}

std::string_view to_string(ReplicaState state) {
  switch (state) {
    case ReplicaState::normal:
      return "normal";
    case ReplicaState::changing_view:
      return "changing_view";
    case ReplicaState::diverged:
      return "diverged";
  }
  return "unknown";
}

std::string_view to_string(RecoveryState state) {
  switch (state) {
    case RecoveryState::none:
      return "none";
    case RecoveryState::fetching:
      return "fetching";
    case RecoveryState::restoring:
      return "restoring";
    case RecoveryState::service_lost:
      return "service_lost";
  }
  return "unknown";
}

std::string_view to_string(ViewChangeCause cause) {
  switch (cause) {
    case ViewChangeCause::none:
      return "none";
    case ViewChangeCause::request_waited:
      return "request_waited";
    case ViewChangeCause::nothing_settled:
      return "nothing_settled";
    case ViewChangeCause::no_new_view:
      return "no_new_view";
    case ViewChangeCause::others_asked:
      return "others_asked";
    case ViewChangeCause::primary_rejoins:
      return "primary_rejoins";
    case ViewChangeCause::primary_gone:
      return "primary_gone";
    case ViewChangeCause::primary_slow:
      return "primary_slow";
    case ViewChangeCause::left_out:
      return "left_out";
    case ViewChangeCause::count_:
      break;
  }
  return "unknown";
}

}  // namespace prophecy::pbft

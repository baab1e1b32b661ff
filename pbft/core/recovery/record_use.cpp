#include "pbft/core/recovery/record_use.hpp"

namespace prophecy::pbft {

RecordUse record_use(const RecordFacts& facts) {
  // The primary waits for the disk as well, and proposes nothing meanwhile: it is this replica's
  // alone that is too slow, or none at all.
  if (facts.is_base_refused) return RecordUse::spare;
  if (!facts.is_service_lost && facts.way != WayBack::none) {
    return facts.is_untold ? RecordUse::spare : RecordUse::restart;
  }
  // All may have lost their services just now, and their power next: what is to take the record's
  // place is waited for. Else the service may be away for hours.
  const bool is_elsewhere =
      facts.is_state_claimed && (facts.is_claim_recent || facts.way == WayBack::none);
  if (is_elsewhere && !facts.is_base_coming) return RecordUse::spare;
  // Equal replies of f+1 may be one correct replica's and the liars', and lead to no state.
  const bool is_kept = facts.way == WayBack::state || !facts.are_replies_claimed;
  return is_kept ? RecordUse::only_way : RecordUse::restart;
}

}  // namespace prophecy::pbft

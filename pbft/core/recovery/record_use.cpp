#include "pbft/core/recovery/record_use.hpp"

namespace prophecy::pbft {

RecordUse record_use(const RecordFacts& facts) {
  // The primary waits for the disk as well, and proposes nothing meanwhile: it is this replica's
  // alone that is too slow, or none at all.
  if (facts.is_base_refused) return RecordUse::spare;
  if (!facts.is_service_lost && facts.leads_on) {
    return facts.is_untold ? RecordUse::spare : RecordUse::restart;
  }
  // Equal replies lead to no state. But f+1 that answer execute what is ordered.
  const RecordUse kept = facts.are_replies_claimed ? RecordUse::restart : RecordUse::only_way;
  // All may have lost their services just now, and their power next.
  if (facts.is_base_coming) return kept;
  if (!facts.leads_on) {
    return facts.is_state_claimed || facts.are_replies_claimed ? RecordUse::spare : kept;
  }
  // The service may be away for hours.
  return facts.is_state_claimed && facts.is_claim_recent ? RecordUse::spare : kept;
}

}  // namespace prophecy::pbft

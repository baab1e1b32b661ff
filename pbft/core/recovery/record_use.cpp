#include "pbft/core/recovery/record_use.hpp"

namespace prophecy::pbft {

// The disk: the primary waits for it as well, and proposes nothing meanwhile, so that it is this
// replica's alone that is too slow, or none at all. A service that is away may be so for hours.
RecordUse record_use(const RecordFacts& facts) {
  if (!facts.is_service_lost) {
    const bool is_stuck = facts.is_base_refused || facts.is_untold;
    return is_stuck ? RecordUse::spare : RecordUse::restart;
  }
  // There is nothing to keep where it leads on from nothing, unless it is so with all.
  const bool is_claimed = facts.is_state_claimed || facts.are_replies_claimed;
  if (!facts.leads_on && is_claimed) return RecordUse::spare;
  if (facts.is_state_claimed && facts.is_claim_recent) return RecordUse::spare;
  if (!facts.are_replies_claimed) return RecordUse::only_way;
  // All may have lost their services just now: the record stays until it is not needed.
  return facts.is_claim_recent && !facts.is_base_coming ? RecordUse::own_way : RecordUse::restart;
}

}  // namespace prophecy::pbft

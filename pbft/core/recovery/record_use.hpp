// record_use() says what the record of the batches behind the base (restart_base.hpp) is good for,
// and with that what becomes of it once it has grown long (docs/storage.md). A pure function.
#pragma once

#include <cstdint>

namespace prophecy::pbft {

enum class RecordUse : std::uint8_t {
  // A restart goes on by it from the base, and a newer base takes its place soon: the group goes no
  // further than a restart could remember. So too where a restart has just begun, and it is not
  // known what the others have left.
  restart,
  // No newer base comes, for this replica's reasons alone, and others have what a restart would
  // need: it is let go once it is long.
  spare,
  // The service has no state, and the record may lead to one that f+1 others are not known to have.
  // They answer all the same: it is kept for longer, but in nobody's way.
  own_way,
  // Likewise, and nobody is known to answer: what is ordered beyond it, nobody might ever execute.
  only_way,
};

struct RecordFacts {
  bool is_base_refused = false;  // by the disk
  bool is_service_lost = false;  // its state is unknown until another one is restored
  // The service is well, but has not told its state at the stable checkpoint.
  bool is_untold = false;
  // Of the stable checkpoint: f+1 have claimed one state of the service, and f+1 the same replies;
  // and it lies behind all that was on record when this replica was started, so that no common
  // outage can have taken from them what they claimed.
  bool is_state_claimed = false;
  bool are_replies_claimed = false;
  bool is_claim_recent = false;
  // A state of its own is on its way to the disk, to be the base.
  bool is_base_coming = false;
  // The log leads on from the service's state, or one of this replica's own that could be restored.
  bool leads_on = false;
};

[[nodiscard]] RecordUse record_use(const RecordFacts& facts);

}  // namespace prophecy::pbft

// record_use() says what the record of the batches behind the base (restart_base.hpp) is good for,
// and with that what becomes of it once it has grown long (docs/storage.md). A pure function.
#pragma once

#include <cstdint>

namespace prophecy::pbft {

enum class RecordUse : std::uint8_t {
  // It leads on from the base, after a restart or once the service is back: the group goes no
  // further than a restart could remember.
  restart,
  // No newer base comes, for this replica's reasons alone, and others have what a restart would
  // need. It is let go once it is long.
  spare,
  // As `restart`; and this replica has no other way to a state that it knows of. It takes no
  // proposals that would push it out: nobody might ever execute what is ordered beyond it.
  only_way,
};

// From where the log of this replica leads on.
enum class WayBack : std::uint8_t {
  none,
  sessions,  // a base without the service's state, which tells whose requests were executed
  state,     // the service's state, or one of this replica's own that could be restored
};

struct RecordFacts {
  bool is_base_refused = false;  // by the disk
  // A state of its own is on its way to the disk, to be the base.
  bool is_base_coming = false;
  bool is_service_lost = false;  // its state is unknown until another one is restored
  // The service is well, but has not told its state at the stable checkpoint.
  bool is_untold = false;
  WayBack way = WayBack::none;
  // At the stable checkpoint f+1 have claimed one state of the service, and f+1 the same replies.
  // It lies behind all that was on record when this replica was started, so that no common outage
  // can have taken from them what they claimed.
  bool is_state_claimed = false;
  bool are_replies_claimed = false;
  bool is_claim_recent = false;
};

[[nodiscard]] RecordUse record_use(const RecordFacts& facts);

}  // namespace prophecy::pbft

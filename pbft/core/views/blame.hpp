// `when_to_blame` decides when a replica asks for another view, and why: a pure function of what
// the replica waits for, and since when.
//
// Deviation from the paper: a primary times itself, too, for what it has proposed. The service of
// this replica blames nobody while it is busy.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "pbft/core/state/counters.hpp"

namespace prophecy::pbft {

struct BlameInputs {
  enum class Place : std::uint8_t {
    silent,  // it has lost its memory, and may ask for nothing
    primary,
    backup,
    changing,  // it has asked for a view that has not begun
  };
  Place place = Place::backup;
  // The time-out of this view.
  Duration patience{};
  // While changing: when a view that 2f+1 ask for has to have begun.
  std::optional<TimePoint> no_new_view_at;
  // When the primary, whose process seems to have ended, has had the time to refute that.
  std::optional<TimePoint> gone_at;
  // Since when what is proposed in this view has not been settled any further.
  std::optional<TimePoint> unsettled_since;
  // Since when a request counts against the primary, if one does (pbft/core/ordering/patience.hpp).
  std::optional<TimePoint> request_since;
  // When requests that wait within their time-outs have used the primary's allowance up.
  TimePoint slow_at = TimePoint::max();
  // When the primary has kept its proposals from this backup for long enough, whatever waits.
  TimePoint left_out_at = TimePoint::max();
};

struct Blame {
  TimePoint at = TimePoint::max();  // max(): nobody is to blame
  ViewChangeCause cause = ViewChangeCause::none;

  friend bool operator==(const Blame&, const Blame&) = default;
};

[[nodiscard]] Blame when_to_blame(const BlameInputs& inputs);

}  // namespace prophecy::pbft

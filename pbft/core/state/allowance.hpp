// `Allowance` bounds what one sender may cause in each interval of a fixed length.
//
// A cost is charged when it is known, so the last one of an interval may exceed the rest. An
// interval begins with the first question after the one before has ended.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.hpp"

namespace prophecy::pbft {

class Allowance {
 public:
  // True while less than `max` was charged in this interval.
  [[nodiscard]] bool is_left(std::uint64_t max, Duration interval, TimePoint now) {
    if (!since_ || now - *since_ >= interval) {
      since_ = now;
      charged_ = 0;
    }
    return charged_ < max;
  }
  void charge(std::uint64_t cost) { charged_ += cost; }
  // When the present interval ends, or has ended.
  [[nodiscard]] TimePoint ends_at(Duration interval) const {
    return since_ ? *since_ + interval : TimePoint::min();
  }

 private:
  std::optional<TimePoint> since_;
  std::uint64_t charged_ = 0;
};

}  // namespace prophecy::pbft

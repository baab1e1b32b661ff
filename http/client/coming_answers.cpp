#include "http/client/coming_answers.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace prophecy::http {

void ComingAnswers::change(Share& share, std::size_t bytes, TimePoint now) {
  held_.subtract(share.bytes_);
  held_.add(bytes);
  if (!share.gives_way_) bytes_ = bytes_ - share.bytes_ + bytes;
  if (share.bytes_ == 0) {
    share.since_ = now;
    share.place_ = shares_.size();
    shares_.push_back(&share);
  }
  share.bytes_ = bytes;
  if (bytes == 0) {
    shares_.back()->place_ = share.place_;
    shares_[share.place_] = shares_.back();
    shares_.pop_back();
    share.gives_way_ = false;
  }
  if (bytes_ > bytes_max_) make_room(now);
}

// Each that gives way is left out of the sum: there is an end.
void ComingAnswers::make_room(TimePoint now) {
  while (bytes_ > bytes_max_) {
    Share* most = nullptr;
    double most_held = -1;
    for (Share* share : shares_) {
      // At least a millisecond, so that of those that have just begun, the largest goes.
      const double age =
          std::chrono::duration<double>(std::max<Duration>(now - share->since_, milliseconds(1)))
              .count();
      const double held = static_cast<double>(share->bytes_) * age;
      if (share->gives_way_ || held <= most_held) continue;
      most = share;
      most_held = held;
    }
    ASSERT(most != nullptr);  // the sum is of those that do not give way
    most->gives_way_ = true;
    bytes_ -= most->bytes_;
    given_way_.add();
    most->holder_.give_way();
  }
}

}  // namespace prophecy::http

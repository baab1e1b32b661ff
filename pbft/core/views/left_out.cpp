#include "pbft/core/views/left_out.hpp"

#include <algorithm>

namespace prophecy::pbft {

void LeftOut::note(const TakenProposals& taken, TimePoint now) {
  if (now - since_ < interval_) return;
  const std::uint64_t all = taken.all - then_.all;
  const std::uint64_t late = taken.late - then_.late;
  const std::uint64_t overtaken = taken.overtaken - then_.overtaken;
  const bool is_left_out = (late >= kLateMin && late * kShare >= all) || overtaken >= kOvertakenMin;
  bad_ = is_left_out ? bad_ + 1 : bad_ - std::min(bad_, 1U);
  since_ = now;
  then_ = taken;
}

void LeftOut::restart(const TakenProposals& taken, TimePoint now) {
  since_ = now;
  then_ = taken;
  bad_ = 0;
}

}  // namespace prophecy::pbft

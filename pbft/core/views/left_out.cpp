#include "pbft/core/views/left_out.hpp"

namespace prophecy::pbft {

void LeftOut::note(const TakenProposals& taken, TimePoint now) {
  if (now - since_ < interval_) return;
  const std::uint64_t all = taken.all - then_.all;
  const std::uint64_t late = taken.late - then_.late;
  const bool is_left_out = late >= kLateMin && late * kShare >= all;
  in_a_row_ = is_left_out ? in_a_row_ + 1 : 0;
  since_ = now;
  then_ = taken;
}

void LeftOut::restart(const TakenProposals& taken, TimePoint now) {
  since_ = now;
  then_ = taken;
  in_a_row_ = 0;
}

}  // namespace prophecy::pbft

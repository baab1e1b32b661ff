#include "measurement/analysis/dynamic_data.hpp"

#include <algorithm>

namespace prophecy::measurement {

void DynamicData::add(const BodyDifference& difference) {
  ++compared;
  if (difference.share == 0 && !difference.one_edit) ++equal_bodies;
  if (difference.share >= 0.3) ++differs_in_30_percent;
  if (difference.share >= 1) ++all_differs;
  if (difference.one_edit) ++one_edit;
  if (difference.one_strict_edit) ++one_strict_edit;
  const auto percent = static_cast<std::size_t>(difference.share * 100);
  ++by_share[std::min(percent, by_share.size() - 1)];
}

}  // namespace prophecy::measurement

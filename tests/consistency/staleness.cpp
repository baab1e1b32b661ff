#include "consistency/staleness.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace prophecy::consistency {

std::size_t count_stale_reads(const History& history) {
  std::map<Value, Instant> written{{kInitial, std::numeric_limits<Instant>::min()}};
  std::vector<std::pair<Instant, Instant>> latest;  // answered; the latest invocation until then
  for (const Operation& operation : history.operations) {
    if (!is_write(operation.kind) || operation.answered == kNever) continue;
    written[*operation.value] = operation.answered;
    latest.emplace_back(operation.answered, operation.invoked);
  }
  std::sort(latest.begin(), latest.end());
  for (std::size_t i = 1; i < latest.size(); ++i)
    latest[i].second = std::max(latest[i].second, latest[i - 1].second);
  return static_cast<std::size_t>(std::count_if(
      history.operations.begin(), history.operations.end(), [&](const Operation& read) {
        if (read.kind != Kind::read || !read.value) return false;
        const auto write = written.find(*read.value);
        const auto next =
            std::lower_bound(latest.begin(), latest.end(), std::pair(read.invoked, Instant{0}));
        return write != written.end() && next != latest.begin() &&
               write->second < std::prev(next)->second;
      }));
}

}  // namespace prophecy::consistency

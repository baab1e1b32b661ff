#include "sketcher/shared/totals.hpp"

namespace prophecy::sketcher {

OriginTotals origin_totals(const SharedState& shared, std::uint32_t origin) {
  OriginTotals totals;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker) {
    const OriginCounters& counters = shared.origins(worker)[origin];
    for (std::size_t i = 0; i < totals.exchanges.size(); ++i) {
      totals.exchanges[i] += counters.exchanges[i].get();
      totals.votes[i] += counters.votes[i].get();
    }
    totals.divergences += counters.divergences.get();
    totals.error_answers += counters.error_answers.get();
    totals.noise += counters.noise.get();
    totals.confirmations += counters.confirmations.get();
    totals.vindications += counters.vindications.get();
    totals.overtaken += counters.overtaken.get();
    totals.slow += counters.slow.get();
  }
  return totals;
}

RequestTotals RequestTotals::of_all(const SharedState& shared) {
  RequestTotals totals;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker) {
    for (const RequestCounters& block : shared.requests(worker))
      totals.blocks_.push_back(&block);
  }
  return totals;
}

RequestTotals RequestTotals::of_worker(const SharedState& shared, std::uint32_t worker) {
  RequestTotals totals;
  for (const RequestCounters& block : shared.requests(worker))
    totals.blocks_.push_back(&block);
  return totals;
}

RequestTotals RequestTotals::of_route(const SharedState& shared, std::uint32_t route) {
  RequestTotals totals;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    totals.blocks_.push_back(&shared.requests(worker)[route]);
  return totals;
}

std::uint64_t RequestTotals::of(Counter RequestCounters::*member) const {
  std::uint64_t total = 0;
  for (const RequestCounters* block : blocks_)
    total += (block->*member).get();
  return total;
}

}  // namespace prophecy::sketcher

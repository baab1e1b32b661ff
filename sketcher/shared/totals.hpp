// What workers counted, added up. A snapshot while they go on counting.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sketcher/shared/shared_state.hpp"

namespace prophecy::sketcher {

// Of one origin in all workers, by its number among those of all groups.
struct OriginTotals {
  std::array<std::uint64_t, http::kExchangeEndCount> exchanges{};  // by ExchangeEnd
  std::array<std::uint64_t, http::kExchangeEndCount> votes{};      // likewise
  std::uint64_t divergences = 0;
  std::uint64_t error_answers = 0;
  std::uint64_t noise = 0;
  std::uint64_t confirmations = 0;
  std::uint64_t vindications = 0;
  std::uint64_t overtaken = 0;
  std::uint64_t slow = 0;
};
[[nodiscard]] OriginTotals origin_totals(const SharedState& shared, std::uint32_t origin);

// One block of each worker, such as its counters of TLS, which pick() takes from its SharedState by
// the worker's number.
template <class Pick>
[[nodiscard]] auto blocks_of_workers(const SharedState& shared, Pick pick) {
  std::vector<decltype(&pick(0U))> blocks;
  for (std::uint32_t worker = 0; worker < shared.shape().workers; ++worker)
    blocks.push_back(&pick(worker));
  return blocks;
}

// Of some blocks of requests.
class RequestTotals {
 public:
  [[nodiscard]] static RequestTotals of_all(const SharedState& shared);
  [[nodiscard]] static RequestTotals of_worker(const SharedState& shared, std::uint32_t worker);
  [[nodiscard]] static RequestTotals of_route(const SharedState& shared, std::uint32_t route);

  [[nodiscard]] std::uint64_t of(Counter RequestCounters::*member) const;
  [[nodiscard]] const std::vector<const RequestCounters*>& blocks() const { return blocks_; }

 private:
  std::vector<const RequestCounters*> blocks_;
};

}  // namespace prophecy::sketcher

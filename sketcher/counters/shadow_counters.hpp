// What one worker counts of one shadow, in shared memory (sketcher/counters/counters.hpp says how).
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "base/counter.hpp"
#include "http/client/origin_exchange.hpp"

namespace prophecy::sketcher {

struct ShadowCounters {
  std::array<Counter, http::kExchangeEndCount> exchanges;  // copies, by ExchangeEnd
  // What its answers were:
  Counter equal;      // to the verified answer, or to what the history held by then
  Counter different;  // while the history held the verified answer all the time
  Counter outdated;   // different, but the history had gone on: nothing can be said
  // Reads that were to be copied and were not: too many are under way, the answer is too large, or
  // the shadow has just failed.
  Counter dropped;
};
constexpr std::pair<std::string_view, Counter ShadowCounters::*> kShadowCounters[] = {
    {"equal", &ShadowCounters::equal},
    {"different", &ShadowCounters::different},
    {"outdated", &ShadowCounters::outdated},
    {"dropped", &ShadowCounters::dropped}};

}  // namespace prophecy::sketcher

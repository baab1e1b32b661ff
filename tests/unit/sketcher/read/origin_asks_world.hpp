// `OriginAsks` alone, and its actions as lines of text.
#pragma once

#include "read_world.hpp"

namespace prophecy::sketcher::read_test {

using Failing = OriginAsks::Failing;
using AskStep = OriginAsks::Step;

struct AsksWorld final : ReadWorld {
  void start(Failing failing = Failing::to_group, bool hedged = false) {
    asks.start(core.group, counters, failing, hedged, {}, now);
  }
  // So many origins are known to answer within `latency`, and so many reads have paid for hedges.
  void learn(Duration latency, std::uint32_t origins_known = 2, int reads_before = 20) {
    for (NodeId origin = 0; origin < origins_known; ++origin) {
      for (std::uint32_t i = 0; i < replica_client::LatencyQuantile::kNeeded; ++i)
        core.group.hedges().on_latency(origin, latency);
    }
    for (int i = 0; i < reads_before; ++i)
      static_cast<void>(core.group.hedges().on_read());
  }
  Lines took() {
    Lines lines;
    while (!actions.empty()) {
      const ReadAction action = actions.take();
      switch (action.kind) {
        case ReadAction::Kind::ask_origin:
          lines.push_back(fmt::format("ask {} in {}", action.replica, action.slot));
          break;
        case ReadAction::Kind::cancel_origin:
          lines.push_back(fmt::format("cancel {}", action.slot));
          break;
        case ReadAction::Kind::arm_hedge:
          lines.push_back("hedge");
          hedge_delay = action.delay;
          break;
        case ReadAction::Kind::disarm_hedge:
          lines.emplace_back("no hedge");
          break;
        default:
          lines.emplace_back("?");
      }
    }
    return lines;
  }

  ReadActions actions;
  OriginAsks asks{actions};
  Duration hedge_delay{};
};

}  // namespace prophecy::sketcher::read_test

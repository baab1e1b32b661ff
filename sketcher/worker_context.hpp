// What all connections of one worker share. Owned by the Worker, which outlives them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "base/timeout_queue.hpp"
#include "history_table/history_table.hpp"
#include "http/client/body_pool.hpp"
#include "replica_client/core/hedge/hedge_policy.hpp"
#include "sketch/request_form.hpp"
#include "sketcher/block_lists.hpp"
#include "sketcher/core/router.hpp"
#include "sketcher/group_context.hpp"
#include "sketcher/group_reads.hpp"
#include "sketcher/hedge_timers.hpp"
#include "sketcher/held_bytes.hpp"
#include "sketcher/origin_settings.hpp"
#include "sketcher/settings.hpp"
#include "sketcher/shadow/shadow_reads.hpp"
#include "sketcher/shared_state.hpp"
#include "sketcher/spool/body_intake.hpp"

namespace prophecy::sketcher {

struct WorkerGroup {
  WorkerGroup(const GroupEnvironment& environment, HistoryTable& table,
              const GroupSettings& settings, const GroupInstallation& installation,
              GroupState& state, WriteFloors floors, std::span<OriginCounters> origins,
              std::span<ShadowCounters> shadow_counters)
      : context(environment, settings, installation, state, floors, origins),
        reads(environment.loop, context, table),
        hedges(context.group().size(), context.group().faults()),
        tunnels(settings.origins.size()) {
    if (settings.shadows.empty()) return;
    shadows = std::make_unique<ShadowReads>(
        environment.loop, context, table, settings.shadows,
        shadow_settings(environment.settings, settings, installation), shadow_counters);
  }

  GroupContext context;
  GroupReads reads;
  std::unique_ptr<ShadowReads> shadows;  // null without any
  replica_client::HedgePolicy hedges;
  std::vector<std::size_t> tunnels;  // by replica: sockets of tunnels, open or being opened
};

struct WorkerContext {
  const Settings& settings;
  const SharedState& shared;
  Logger& log;
  HistoryTable& table;
  Router router;
  std::vector<std::unique_ptr<WorkerGroup>> groups;
  std::vector<std::unique_ptr<SlowPathBudget>> budgets;  // by route; null for one without limits
  WorkerCounters& counters;
  std::span<RequestCounters> requests;  // by route; the last one is for what no route takes
  SecureRandom random;
  HedgeTimers& hedge_timers;
  TimeoutQueue& read_timeouts;
  // Of answers in blocks whose clients take nothing.
  TimeoutQueue& untaken_timeouts;
  BlockLists block_lists;
  http::BodyPool& bodies;
  HeldBytes& untaken;   // of answers
  HeldBytes& arriving;  // of requests that are not whole, or wait for their turn
  HeldBytes& asking;    // of requests that an origin or the group is asked for
  ActivityTable& activity;
  Spool spool;
  sketch::RequestCanonicalizer request_canonicalizer;

  // Of a request that no route has taken.
  void count_refusal(std::string_view reason) const {
    requests.back().refused.add();
    counters.refusals.add(reason);
  }
};

}  // namespace prophecy::sketcher

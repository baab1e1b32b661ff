// What all connections of one worker share. Owned by the Worker, which outlives them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "base/timeout_queue.hpp"
#include "canonical/request_form.hpp"
#include "history_table/history_table.hpp"
#include "http/client/body_pool.hpp"
#include "sketcher/answer/coded_bodies.hpp"
#include "sketcher/config/settings.hpp"
#include "sketcher/core/admission/held_bytes.hpp"
#include "sketcher/core/policy/router.hpp"
#include "sketcher/core/read/group_core.hpp"
#include "sketcher/group/group_context.hpp"
#include "sketcher/group/origin_uses.hpp"
#include "sketcher/group/shadow_reads.hpp"
#include "sketcher/group/stream_pools.hpp"
#include "sketcher/installation/origin_settings.hpp"
#include "sketcher/members/member_links.hpp"
#include "sketcher/reads/access_log.hpp"
#include "sketcher/reads/acme_challenges.hpp"
#include "sketcher/reads/hedge_timers.hpp"
#include "sketcher/shared/shared_state.hpp"
#include "sketcher/spool/body_intake.hpp"

namespace prophecy::sketcher {

struct WorkerGroup {
  WorkerGroup(const GroupEnvironment& environment, HistoryTable& table,
              const GroupSettings& settings, const GroupInstallation& installation,
              GroupState& state, WriteFloors floors, std::span<OriginCounters> origins,
              std::span<ShadowCounters> shadow_counters)
      : context(environment, table, settings, installation, state, floors, origins),
        tunnels(settings.origins.size()),
        uses(settings.origins.size()),
        streams(environment.loop, origin_settings(environment.settings, settings, installation),
                environment.settings.origin_streams_max, environment.origin_timeouts) {
    if (settings.shadows.empty()) return;
    shadows = std::make_unique<ShadowReads>(
        environment.loop, context, table, settings.shadows,
        shadow_settings(environment.settings, settings, installation), shadow_counters);
  }

  GroupContext context;
  std::unique_ptr<ShadowReads> shadows;  // null without any
  std::vector<std::size_t> tunnels;      // by replica: sockets of tunnels, open or being opened
  OriginUses uses;
  StreamPools streams;
};

// The worker's generator, for cores.
struct RandomDice final : Dice {
  SecureRandom random;
  std::uint32_t below(std::uint32_t bound) override { return random.below(bound); }
};

struct WorkerContext {
  const Settings& settings;
  const SharedState& shared;
  Logger& log;
  HistoryTable& table;
  Router router;
  std::vector<std::unique_ptr<WorkerGroup>> groups;
  std::vector<std::unique_ptr<SlowPathBudget>> budgets;     // by route; null for one without limits
  std::vector<std::unique_ptr<ClientLimit>> client_limits;  // likewise
  WorkerCounters& counters;
  std::span<RequestCounters> requests;  // by route; the last one is for what no route takes
  RandomDice& dice;
  HedgeTimers& hedge_timers;
  HedgeTimers& owner_timers;  // of requests that wait for partitions' owners, which are ours to be
  HedgeTimers& retry_timers;  // of those that the owner has rejected, not knowing it yet
  TimeoutQueue& read_timeouts;
  // Of answers in blocks whose clients take nothing.
  TimeoutQueue& untaken_timeouts;
  http::BodyPool& bodies;
  CodedBodies& coded;
  HeldBytes& untaken;   // of answers
  HeldBytes& arriving;  // of requests that are not whole, or wait for their turn
  HeldBytes& asking;    // of requests that an origin or the group is asked for
  ActivityTable& activity;
  AccessLog& access_log;
  Spool spool;
  sketch::RequestCanonicalizer request_canonicalizer;
  LookUpBudget challenges{};             // of ACME clients
  std::unique_ptr<WorkerReads> reads{};  // made once the groups are
  MemberLinks* members = nullptr;        // null without others in a ring
};

}  // namespace prophecy::sketcher

#include "sketcher/worker/member_service.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

// The owner's own time-outs come first: then it is the member that is silent.
constexpr Duration kBeyondOwners = seconds(2);
// Many clients share a connection.
constexpr std::uint32_t kStreamsMax = 4096;

MemberTimes times_of(const Settings& settings) {
  Duration answer = settings.timeouts.total;
  for (const GroupSettings& group : settings.groups)
    answer = std::max(answer, group.deadline);
  return {.connect = settings.timeouts.connect,
          .answer = answer + kBeyondOwners,
          .owner = settings.ring->owner_wait};
}

http::Http2Limits limits_of(const Settings& settings) {
  return {.request = settings.limits.request,
          .streams_max = kStreamsMax,
          .bodies_bytes_max = settings.limits.arriving_bytes_max,
          .unsent_bytes_max = settings.limits.untaken_bytes_max,
          .is_from_proxy = true};
}

}  // namespace

MemberService::MemberService(boost::asio::io_context& loop, const Installation& installation,
                             WorkerContext& context, const SessionContext& clients,
                             std::uint32_t worker)
    : links_(loop, *installation.ring_tls->client, context.shared, worker,
             context.settings.limits.answer, times_of(context.settings)),
      directory_(context.shared.ring().members),
      listener_{.tls = installation.ring_tls->server.get(),
                .http1 = false,
                .http2 = true,
                .peers = &peers_,
                .members = &directory_},
      handlers_(context, RequestSource::members),
      sessions_{.worker = context,
                .resources = {.limits = clients.resources.limits,
                              .via = clients.resources.via,
                              .spool = clients.resources.spool,
                              .untaken = clients.resources.untaken,
                              .arriving = clients.resources.arriving,
                              .asking = clients.resources.asking,
                              .bodies = clients.resources.bodies,
                              .counters = clients.resources.counters,
                              .unrouted = clients.resources.unrouted,
                              .date = clients.resources.date,
                              .handlers = handlers_},
                .timeouts = clients.timeouts,
                .http2 = {.limits = limits_of(context.settings),
                          .timeouts = clients.timeouts,
                          .unsent_for_start_max = context.settings.limits.untaken_bytes_max,
                          .block_bytes_max = context.settings.limits.untaken_bytes_max}} {}

}  // namespace prophecy::sketcher

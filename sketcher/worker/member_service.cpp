#include "sketcher/worker/member_service.hpp"

#include <algorithm>

namespace prophecy::sketcher {
namespace {

// The owner's own time-outs come first: then it is the member that is silent.
constexpr Duration kBeyondOwners = seconds(2);
// Many clients share a connection.
constexpr std::uint32_t kStreamsMax = 4096;
// Beside what members add.
constexpr std::size_t kRoomBytes = 4 << 10;
constexpr std::size_t kRoomFields = 64;

MemberTimes times_of(const Settings& settings) {
  Duration answer = settings.timeouts.total;
  for (const GroupSettings& group : settings.groups)
    answer = std::max(answer, group.deadline);
  return {.connect = settings.timeouts.connect,
          .answer = answer + kBeyondOwners,
          .owner = settings.ring->owner_wait};
}

// What the other member has taken from its client or from an origin is within the limits, and has
// got some fields more since: of its own, or by rules of a route. A floor's target is a written URI
// after its prefix was rewritten, or one that was resolved against that.
http::MessageLimits with_room(const http::MessageLimits& of_others) {
  http::MessageLimits limits = of_others;
  limits.target_bytes_max = 3 * limits.target_bytes_max + kRoomBytes;
  limits.header_bytes_max = 2 * limits.header_bytes_max + kRoomBytes;
  limits.header_count_max = 2 * limits.header_count_max + kRoomFields;
  return limits;
}

http::Http2Limits limits_of(const Settings& settings) {
  return {.request = with_room(settings.limits.request),
          .streams_max = kStreamsMax,
          .bodies_bytes_max = settings.limits.arriving_bytes_max,
          .unsent_bytes_max = settings.limits.untaken_bytes_max,
          .is_from_proxy = true};
}

}  // namespace

MemberService::MemberService(boost::asio::io_context& loop, const Installation& installation,
                             WorkerContext& context, const SessionContext& clients,
                             std::uint32_t worker)
    : answer_limits_(with_room(context.settings.limits.answer)),
      links_(loop, *installation.ring_tls->client, context.shared, worker, answer_limits_,
             times_of(context.settings)),
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

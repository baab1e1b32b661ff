// What one worker counts of one other member of the ring, in shared memory
// (sketcher/counters/counters.hpp says how).
#pragma once

#include <array>

#include "base/counter.hpp"
#include "base/metric.hpp"
#include "http/http2/client_connection.hpp"

namespace prophecy::sketcher {

struct MemberCounters {
  // Requests that were forwarded to it, by Http2CallEnd.
  std::array<Counter, http::kHttp2CallEndCount> calls;
  Counter unreachable;        // were not sent: it could not be connected to
  Counter not_mine;           // of those answered: another member is the owner
  Counter repeated;           // were made again, here or elsewhere
  Counter floors_raised;      // there, for writes whose partition had moved
  Counter connections;        // to its workers, once they have accepted them
  Counter handshakes_failed;  // ended before that, although the worker could be reached
};
inline constexpr auto kMemberTable = metric_table<MemberCounters>(
    "member", "ring.members[]",
    {metric_rows_by<&MemberCounters::calls, http::Http2CallEnd>(
         "forwarded",
         counter_metric("prophecy_forwarded_requests_total", "requests",
                        "Requests forwarded to another member by how they ended.")
             .by("end",
                 "`answered`; `unprocessed`: the member has not begun it; `broken-off` by the "
                 "member; `lost`: the connection has ended; `malformed`: the answer was none. "
                 "Those "
                 "that this sketcher takes back, because their clients left, are not counted.")),
     metric_row<&MemberCounters::unreachable>(
         "unreachable", counter_metric("prophecy_forwarded_unreachable_total", "requests",
                                       "Requests for a member that could not be connected to.")),
     metric_row<&MemberCounters::not_mine>(
         "not_mine",
         counter_metric("prophecy_forwarded_not_mine_total", "requests",
                        "Forwarded requests whose owner is another member, as that member says.")),
     metric_row<&MemberCounters::repeated>(
         "repeated", counter_metric("prophecy_forwarded_repeated_total", "requests",
                                    "Requests that were forwarded once more.")
                         .about("A write only if it had not been begun.")),
     metric_row<&MemberCounters::floors_raised>(
         "floors_raised",
         counter_metric("prophecy_member_floors_raised_total", "floors",
                        "Floors that a member has raised for this one's writes, whose partition "
                        "had moved while they were under way.")),
     metric_row<&MemberCounters::connections>(
         "connections", counter_metric("prophecy_member_connections_total", "connections",
                                       "Connections that another member has accepted.")),
     metric_row<&MemberCounters::handshakes_failed>(
         "handshakes_failed",
         counter_metric("prophecy_member_handshakes_failed_total", "handshakes",
                        "Connections to a member that ended before it had accepted them.")
             .about("One side found no certificate of the ring with the other's name, or the "
                    "member ended or was silent."))});

}  // namespace prophecy::sketcher

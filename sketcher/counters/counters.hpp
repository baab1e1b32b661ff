// What the workers count, in memory that the master reads. Each worker has blocks of its own and
// is their only writer, so counting is a load and a store, without a locked instruction. A block
// outlives its worker: the replacement goes on counting in it. The rows below each block say what
// the status, the metrics and the documentation make of it (base/metric.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "base/counter.hpp"
#include "base/metric.hpp"
#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"
#include "sketcher/counters/compression_counters.hpp"
#include "sketcher/counters/reason_counters.hpp"
#include "sketcher/counters/transport_counters.hpp"

namespace prophecy::sketcher {

// Of one origin.
struct OriginCounters {
  std::array<Counter, http::kExchangeEndCount> exchanges;  // fast reads, by ExchangeEnd
  std::array<Counter, http::kExchangeEndCount> votes;      // likewise; in a group without agents
  Counter divergences;    // answers that the group's agreement refuted
  Counter error_answers;  // 5xx, 408, 425 or 429 where the group agreed on another answer
  Counter noise;          // other answers that differed and prove nothing
  Counter confirmations;  // reads that asked it again with constants, before it was accused
  Counter vindications;   // refuted answers that the group agreed on later
  Counter overtaken;      // hedged fast reads that the second origin, asked later, answered first
  Counter slow;           // fast reads that took much longer than those of others (HedgePolicy)
  // Now, at an origin that is drained or in maintenance: a gauge, zeroed when a worker ends.
  Counter under_way;
};
inline constexpr std::string_view kExchangeEnds =
    "`not-sent`: no connection, or closed before a byte had left; `stale`: a kept connection "
    "closed before any byte of the answer; `broken`: closed within the exchange; `malformed`: not "
    "HTTP, or more than was requested; `too-large`: beyond a limit; `overloaded`: too many waited "
    "for a connection, or this did for all its time; `shed`: the answers that were arriving held "
    "more than `answers_coming`; `delayed`: waited behind others on a connection for too long, and "
    "was sent to another origin; `quiet`: a streamed answer brought nothing for too long; "
    "`untrusted-certificate`, `expired-certificate`, `wrong-name`, `tls-failed`: the TLS handshake "
    "failed before anything was sent.";
inline constexpr auto kOriginTable = metric_table<OriginCounters>(
    "group, replica, address", "origins[]",
    {metric_row<&OriginCounters::divergences>(
         "divergences", counter_metric("prophecy_divergences_total", "answers",
                                       "Answers that the group's agreement refuted.")),
     metric_row<&OriginCounters::vindications>(
         "vindications", counter_metric("prophecy_vindications_total", "answers",
                                        "Refuted answers that the group agreed on later.")),
     metric_row<&OriginCounters::error_answers>(
         "error_answers",
         counter_metric("prophecy_error_answers_total", "answers",
                        "Error answers (5xx, 408, 425, 429) where the group agreed on another.")),
     metric_row<&OriginCounters::noise>(
         "noise",
         counter_metric(
             "prophecy_noise_total", "answers",
             "Answers that differed from the group's, and prove nothing against their origin.")
             .about(
                 "The history did not hold the group's answer before, during and after, or the "
                 "replica reported that it was busy, or its answer without the visible exceptions "
                 "equalled the group's.")),
     metric_row<&OriginCounters::confirmations>(
         "confirmations",
         counter_metric("prophecy_confirmations_total", "reads",
                        "Reads that asked an origin again, with constants, before it was accused.")
             .about("The constants stand in place of the visible exceptions.")),
     metric_row<&OriginCounters::overtaken>(
         "overtaken",
         counter_metric("prophecy_overtaken_total", "reads",
                        "Hedged fast reads that another origin, asked later, answered first.")),
     metric_row<&OriginCounters::slow>(
         "slow", counter_metric("prophecy_slow_reads_total", "reads",
                                "Fast reads that took much longer than those of other origins.")
                     .about("Time-outs are not counted.")),
     metric_row<&OriginCounters::under_way>(
         "under_way",
         gauge_metric("prophecy_origin_under_way", "reads",
                      "Reads and tunnels still at an origin that is drained or in maintenance.")
             .about("Counted once a second. It is 0 for all others."))});
// The status has these as `fast_answers` and `fast_failures`.
inline constexpr auto kOriginExchangeTable = metric_table<OriginCounters>(
    "group, replica, address", "origins[]",
    {metric_rows_by<&OriginCounters::exchanges, http::ExchangeEnd>(
        "", counter_metric("prophecy_fast_reads_total", "reads",
                           "Fast reads by how the exchange with the origin ended.")
                .by("end", kExchangeEnds))});
// Of groups without agents; in the status `votes` and `vote_failures`.
inline constexpr auto kOriginVoteTable = metric_table<OriginCounters>(
    "group, replica, address", "origins[]",
    {metric_rows_by<&OriginCounters::votes, http::ExchangeEnd>(
        "", counter_metric("prophecy_votes_total", "votes",
                           "Votes by how the exchange with the origin ended.")
                .by("end",
                    "In a group of kind `vote` alone. The ends are those of "
                    "`prophecy_fast_reads_total`."))});

// The first digit of a status, from 2.
enum class StatusClass : std::uint8_t { success, redirection, client_error, server_error };
constexpr std::size_t kStatusClassCount = 4;
[[nodiscard]] constexpr std::string_view to_string(StatusClass status_class) {
  constexpr std::string_view kNames[kStatusClassCount] = {"2xx", "3xx", "4xx", "5xx"};
  return kNames[static_cast<std::size_t>(status_class)];
}

// Of one route's requests.
struct alignas(64) RequestCounters {
  Counter reads;
  Counter writes;
  // How requests ended: each ends in exactly one of these.
  Counter answered_fast;        // by one origin, and verified
  Counter answered_unverified;  // by one origin: the route is observed or off, or by an operator's
                                // whitelist
  Counter answered_replicated;  // ordered by the group
  Counter answered_read_only;   // PBFT's read-only optimisation
  Counter forwarded;            // by another member of the ring
  Counter redirected;           // by the route's redirect
  Counter challenges;           // of an ACME client's authority, answered from its folder
  Counter refused;              // by us, before the group was asked: 4xx, 501, 505
  Counter failed;               // the group gave no answer: 502, 503, 405
  Counter abandoned;            // the client left: a reset, not an orderly end of its sending
  std::array<Counter, kStatusClassCount> answers;  // to clients, by StatusClass

  Counter tunnels_opened;      // likewise: the connection was handed to another protocol
  Counter tunnel_bytes_in;     // from clients
  Counter tunnel_bytes_out;    // to clients
  Counter streams;             // of those unverified: on a route in mode `stream`, in pieces
  Counter stream_bytes_out;    // to clients
  Counter hedged;              // fast reads for which a second origin was asked
  Counter hedges_won;          // of these, those that it answered first
  Counter denied;              // of those refused: the client may not ask
  Counter too_often;           // likewise: it has asked too often
  Counter too_many;            // likewise: too many of its requests were in flight
  Counter over_budget;         // of those failed: the slow path's budget was used up
  Counter moved;               // requests whose partition another sketcher owns, or nobody yet
  Counter coalesced;           // of those replicated: shared the group's answer to an equal read
  Counter whitelisted;         // of those unverified: by an operator's mark or the configuration
  Counter blacklisted;         // reads sent to the group at once: likewise
  Counter avoided;             // likewise: blacklisted automatically
  Counter transitions;         // the agreed answer differed from the history
  Counter group_restarts;      // the group lost its history: all agents were restarted
  Counter forced_transitions;  // by [test] fail_fast_reads
  Counter unsketchable;        // replicated answers that the history may not hold
  Counter varies_unkeyed;      // of these, those whose Vary names what s(q) does not cover
  Counter unobserved;          // answers of an observed route that too many others kept from it
  Counter invalidations;       // writes after which what was remembered of their URI does not count
  Counter out_of_date;         // reads that have found such an entry
  Counter table_inserts;
  Counter table_replaces;
  Counter table_unordered;  // two answers of a group without an order overlapped, and differed
  std::array<Counter, replica_client::kReplicatedFailureCount> replicated_failures;
};

inline constexpr Metric kReceivedMetric =
    counter_metric("prophecy_requests_received_total", "requests", "Requests that a route took.")
        .by("kind");
inline constexpr Metric kRequestsMetric =
    counter_metric("prophecy_requests_total", "requests", "Requests by how they ended.").by("path");
inline constexpr Metric kLimitedMetric =
    counter_metric("prophecy_limited_total", "requests",
                   "Requests rejected by the limits for one client (`clients` of a route).")
        .by("limit");
inline constexpr Metric kTunnelBytesMetric =
    counter_metric("prophecy_tunnel_bytes_total", "bytes", "Bytes that passed through tunnels.")
        .by("direction");
inline constexpr auto kRequestTable = metric_table<RequestCounters>(
    "route", "requests",
    {metric_row<&RequestCounters::reads>("reads", kReceivedMetric, "read",
                                         "Requests that change nothing: GET, HEAD and tunnels."),
     metric_row<&RequestCounters::writes>("writes", kReceivedMetric, "write",
                                          "Requests that may change something."),
     metric_row<&RequestCounters::answered_fast>("fast", kRequestsMetric, "fast",
                                                 "Answered by one origin, and verified."),
     metric_row<&RequestCounters::answered_unverified>(
         "unverified", kRequestsMetric, "unverified",
         "Answered by one origin: the route is observed or off, or a whitelist says so."),
     metric_row<&RequestCounters::answered_replicated>("replicated", kRequestsMetric, "replicated",
                                                       "Ordered by the group."),
     metric_row<&RequestCounters::answered_read_only>("read_only", kRequestsMetric, "read_only",
                                                      "Answered by PBFT's read-only optimisation."),
     metric_row<&RequestCounters::forwarded>("forwarded", kRequestsMetric, "forwarded",
                                             "Answered by another member of the ring."),
     metric_row<&RequestCounters::redirected>("redirected", kRequestsMetric, "redirected",
                                              "Redirected by the route."),
     metric_row<&RequestCounters::challenges>("challenges", kRequestsMetric, "challenge",
                                              "ACME challenges answered from their folder."),
     metric_row<&RequestCounters::refused>("refused", kRequestsMetric, "refused",
                                           "Rejected by the sketcher, before the group was asked."),
     metric_row<&RequestCounters::failed>("failed", kRequestsMetric, "failed",
                                          "The group had no answer."),
     metric_row<&RequestCounters::abandoned>("abandoned", kRequestsMetric, "abandoned",
                                             "The client reset its connection."),
     metric_row<&RequestCounters::tunnels_opened>("tunnels", kRequestsMetric, "tunnel",
                                                  "The connection went on in another protocol."),
     metric_row<&RequestCounters::tunnel_bytes_in>("tunnel_bytes_in", kTunnelBytesMetric, "in",
                                                   "From clients."),
     metric_row<&RequestCounters::tunnel_bytes_out>("tunnel_bytes_out", kTunnelBytesMetric, "out",
                                                    "To clients."),
     metric_row<&RequestCounters::streams>(
         "streams", counter_metric("prophecy_streamed_total", "answers",
                                   "Answers that began on a route in mode `stream`, in pieces.")
                        .about("Each is one of the `unverified` requests as well.")),
     metric_row<&RequestCounters::stream_bytes_out>(
         "stream_bytes_out", counter_metric("prophecy_streamed_out_bytes_total", "bytes",
                                            "Bytes of these answers that clients were sent.")),
     metric_rows_by<&RequestCounters::answers, StatusClass>(
         "answers", counter_metric("prophecy_answers_total", "answers",
                                   "Answers by the class of their status.")
                        .by("class",
                            "It is the status that the origin, the group or the sketcher gave, "
                            "before a condition or a range of the request changed it.")),
     metric_row<&RequestCounters::denied>("denied", kLimitedMetric, "denied",
                                          "The address is denied, or not among those allowed."),
     metric_row<&RequestCounters::too_often>("too_often", kLimitedMetric, "rate",
                                             "Too many requests a second."),
     metric_row<&RequestCounters::too_many>("too_many", kLimitedMetric, "in_flight",
                                            "Too many requests in flight."),
     metric_row<&RequestCounters::over_budget>(
         "over_budget",
         counter_metric("prophecy_over_budget_total", "reads",
                        "Reads that failed because the budget of the slow path was used up.")
             .about("The budgets are `slow_path_share` and `slow_path_per_client_second`.")),
     metric_row<&RequestCounters::moved>(
         "moved", counter_metric("prophecy_moved_total", "requests",
                                 "Requests that could not be accepted here, and were asked again.")
                      .about("Another member of the ring owns the partition, or its former owner "
                             "may not have stopped.")),
     metric_row<&RequestCounters::coalesced>(
         "coalesced",
         counter_metric("prophecy_coalesced_total", "reads",
                        "Replicated reads that shared the answer to an equal read under way.")),
     metric_row<&RequestCounters::hedged>(
         "hedged", counter_metric("prophecy_hedged_total", "reads",
                                  "Fast reads for which a second origin was asked.")),
     metric_row<&RequestCounters::hedges_won>(
         "hedges_won", counter_metric("prophecy_hedges_won_total", "reads",
                                      "Hedged reads that the second origin answered first.")),
     metric_row<&RequestCounters::unobserved>(
         "unobserved",
         counter_metric("prophecy_unobserved_total", "answers",
                        "Answers of an observed route that were compared with nothing.")
             .about("Too many others, 256, were being compared.")),
     metric_row<&RequestCounters::avoided>(
         "avoided",
         counter_metric(
             "prophecy_avoided_total", "reads",
             "Reads sent to the group at once, because most of the last ones met a transition.")),
     metric_row<&RequestCounters::whitelisted>(
         "whitelisted",
         counter_metric("prophecy_whitelisted_total", "reads",
                        "Unverified reads, by an operator's mark or a list of the route.")),
     metric_row<&RequestCounters::blacklisted>(
         "blacklisted",
         counter_metric("prophecy_blacklisted_total", "reads",
                        "Reads sent to the group by an operator's mark or a list of the route."))});
inline constexpr auto kHistoryTable = metric_table<RequestCounters>(
    "route", "history",
    {metric_row<&RequestCounters::table_inserts>(
         "inserts",
         counter_metric("prophecy_history_inserts_total", "answers",
                        "Agreed answers remembered of a request that the history did not hold.")),
     metric_row<&RequestCounters::table_replaces>(
         "replaces", counter_metric("prophecy_history_replaces_total", "answers",
                                    "Agreed answers that replaced another one in the history.")),
     metric_row<&RequestCounters::table_unordered>(
         "unordered",
         counter_metric("prophecy_history_unordered_total", "votes",
                        "Votes that overlapped and differed, or could not be sketched.")
             .about("Neither answer is kept.")),
     metric_row<&RequestCounters::invalidations>(
         "invalidations",
         counter_metric("prophecy_invalidations_total", "writes",
                        "Writes that invalidated the history's entries of their URIs.")
             .about("Both successful and uncertain writes count.")),
     metric_row<&RequestCounters::out_of_date>(
         "out_of_date",
         counter_metric("prophecy_out_of_date_total", "reads",
                        "Reads that found an invalidated entry, and asked the group.")),
     metric_row<&RequestCounters::transitions>(
         "transitions", counter_metric("prophecy_transitions_total", "reads",
                                       "Reads whose agreed answer differed from the history.")),
     metric_row<&RequestCounters::forced_transitions>(
         "forced_transitions",
         counter_metric("prophecy_forced_transitions_total", "reads",
                        "Transitions that `fail_fast_reads` of `[test]` forced.")),
     metric_row<&RequestCounters::group_restarts>(
         "group_restarts",
         counter_metric(
             "prophecy_group_restarts_total", "restarts",
             "Times that the group's order began anew, because all agents had lost it.")),
     metric_row<&RequestCounters::unsketchable>(
         "unsketchable", counter_metric("prophecy_unsketchable_total", "answers",
                                        "Agreed answers that the history may not hold.")),
     metric_row<&RequestCounters::varies_unkeyed>(
         "varies_unkeyed",
         counter_metric(
             "prophecy_varies_unkeyed_total", "answers",
             "Agreed answers not remembered: their Vary names what the sketch does not cover.")
             .about("Origins see that field."))});
inline constexpr auto kFailureTable = metric_table<RequestCounters>(
    "route", "",
    {metric_rows_by<&RequestCounters::replicated_failures, replica_client::ReplicatedFailure>(
        "replicated_failures", counter_metric("prophecy_replicated_failures_total", "requests",
                                              "Requests that the group did not answer.")
                                   .by("reason"))});

// Answers in blocks.
struct LargeCounters {
  Counter lists_found;     // remembered ones that a read began with
  Counter begun;           // their first bytes released
  Counter completed;       // to the last byte
  Counter broken;          // cut off: no origin had the rest
  Counter switched;        // times that the rest came from another origin
  Counter blocks_refuted;  // that were not the list's
  Counter let_go;          // times that an origin's connection was, for a slow client
};
inline constexpr Metric kLargeMetric =
    counter_metric("prophecy_large_answers_total", "events",
                   "Events of answers in blocks, and of those streamed on a route that is off.")
        .by("event");
inline constexpr auto kLargeTable = metric_table<LargeCounters>(
    "worker", "large",
    {metric_row<&LargeCounters::lists_found>("lists_found", kLargeMetric, "lists_found",
                                             "Reads that began with a remembered list."),
     metric_row<&LargeCounters::begun>("begun", kLargeMetric, "begun",
                                       "Answers whose first bytes were released."),
     metric_row<&LargeCounters::completed>("completed", kLargeMetric, "completed",
                                           "Answers delivered to the last byte."),
     metric_row<&LargeCounters::broken>("broken", kLargeMetric, "broken",
                                        "Answers cut off because no origin had the rest."),
     metric_row<&LargeCounters::switched>("switched", kLargeMetric, "switched",
                                          "Times that the rest came from another origin."),
     metric_row<&LargeCounters::blocks_refuted>("blocks_refuted", kLargeMetric, "blocks_refuted",
                                                "Blocks that did not match the list."),
     metric_row<&LargeCounters::let_go>("let_go", kLargeMetric, "let_go",
                                        "Times that an origin's connection was released because "
                                        "the client had read nothing for a second.")});

// Requests' bodies in files.
struct SpoolCounters {
  Counter bytes;  // held now: gauges, zeroed when a worker starts
  Counter files;
  Counter bodies;    // that were too large for memory
  Counter refused;   // of these: no room was left, or the disk took no more
  Counter too_slow;  // bodies that gave way for want of room, or took too long
};
inline constexpr auto kSpoolTable = metric_table<SpoolCounters>(
    "worker", "spool",
    {metric_row<&SpoolCounters::bytes>(
         "bytes",
         gauge_metric("prophecy_spool_bytes", "bytes", "Bytes of requests' bodies in files.")),
     metric_row<&SpoolCounters::files>("files", gauge_metric("prophecy_spool_files", "files",
                                                             "Files that hold requests' bodies.")),
     metric_row<&SpoolCounters::bodies>(
         "bodies", counter_metric("prophecy_spooled_bodies_total", "bodies",
                                  "Requests' bodies that were too large for memory.")),
     metric_row<&SpoolCounters::refused>(
         "refused",
         counter_metric(
             "prophecy_spool_refusals_total", "bodies",
             "Requests' bodies refused: no room was left for files, or the disk took no more.")),
     metric_row<&SpoolCounters::too_slow>(
         "too_slow", counter_metric("prophecy_slow_bodies_total", "bodies",
                                    "Requests' bodies dropped because there was no room in files, "
                                    "or because they took too long.")
                         .about("`body_total` is the time that they may take."))});

struct alignas(64) WorkerCounters {
  // Open now: gauges, zeroed when a worker starts.
  Counter connections;
  Counter tunnels;
  Counter streams;
  Counter untaken_bytes;   // of answers
  Counter arriving_bytes;  // of requests that are not whole, or wait for their turn
  Counter asking_bytes;    // of requests that an origin or the group is asked for
  Counter coming_bytes;    // of answers that are read from origins

  Counter connections_accepted;
  Counter connections_refused;  // their address had all that it may have
  Counter timeouts;             // clients that were too slow
  Counter shed;                 // of these, those that were so for want of room for answers
  Counter shed_requests;        // likewise, for requests
  Counter shed_connections;     // idle ones that gave their places up to others
  Counter shed_answers;         // of origins, for want of room while they came
  Counter events_lost;  // divergences beyond what is written, or what fits into the channel to the
                        // master
  ReasonCounters refusals;  // of requests and connections, by the text that a client gets
  LargeCounters large;
  CompressionCounters compression;
  SpoolCounters spool;
  TlsCounters tls;
  Http2Counters http2;
};
inline constexpr Metric kEventsLostMetric =
    counter_metric("prophecy_events_lost_total", "events",
                   "Divergences that were counted, but not written as events.")
        .about(
            "Beyond 1000 of one origin at once, and then one in 100 ms, or because the event was "
            "lost on its way to the master. Events that the master drops have `master` as their "
            "worker. The status has them all as `divergences_lost`.");
inline constexpr auto kWorkerTable = metric_table<WorkerCounters>(
    "worker", "workers[]",
    {metric_row<&WorkerCounters::connections>(
         "connections",
         gauge_metric("prophecy_connections", "connections", "Open client connections.")),
     metric_row<&WorkerCounters::tunnels>(
         "tunnels", gauge_metric("prophecy_tunnels", "tunnels", "Open tunnels.")),
     metric_row<&WorkerCounters::streams>(
         "streams",
         gauge_metric("prophecy_streams", "streams", "Answers that are being streamed.")),
     metric_row<&WorkerCounters::untaken_bytes>(
         "untaken_bytes",
         gauge_metric(
             "prophecy_untaken_bytes", "bytes",
             "Bytes in memory of answers that clients have not read yet, and of tunnels.")),
     metric_row<&WorkerCounters::arriving_bytes>(
         "arriving_bytes", gauge_metric("prophecy_arriving_bytes", "bytes",
                                        "Bytes in memory of requests that have not arrived "
                                        "completely, or wait for their turn.")),
     metric_row<&WorkerCounters::asking_bytes>(
         "asking_bytes", gauge_metric("prophecy_asking_bytes", "bytes",
                                      "Bytes in memory of requests that wait for an answer.")),
     metric_row<&WorkerCounters::coming_bytes>(
         "coming_bytes",
         gauge_metric("prophecy_coming_bytes", "bytes",
                      "Bytes in memory of large answers that are still being read from origins.")
             .about("Large ones have more than 128 KiB.")),
     metric_row<&WorkerCounters::shed>(
         "shed", counter_metric("prophecy_clients_shed_total", "connections",
                                "Clients disconnected early, because all answers together took "
                                "more memory than `untaken`.")),
     metric_row<&WorkerCounters::shed_answers>(
         "shed_answers", counter_metric("prophecy_answers_shed_total", "answers",
                                        "Answers dropped while they arrived, because all together "
                                        "took more memory than `answers_coming`.")),
     metric_row<&WorkerCounters::shed_requests>(
         "shed_requests",
         counter_metric(
             "prophecy_requests_shed_total", "requests",
             "Requests ended early, because all together took more memory than `arriving`.")),
     metric_row<&WorkerCounters::shed_connections>(
         "shed_connections",
         counter_metric("prophecy_connections_shed_total", "connections",
                        "Idle connections that were closed for new ones, with few places left.")
             .about("More than seven eighths of `connections_max` were open.")),
     metric_row<&WorkerCounters::connections_accepted>(
         "accepted", counter_metric("prophecy_connections_total", "connections",
                                    "Accepted client connections.")),
     metric_row<&WorkerCounters::connections_refused>(
         "connections_refused", counter_metric("prophecy_connections_refused_total", "connections",
                                               "Connections closed because their address had too "
                                               "many, or because they had no PROXY header.")
                                    .about("The limit is `connections_per_address_max`.")),
     metric_row<&WorkerCounters::timeouts>(
         "",
         counter_metric("prophecy_client_timeouts_total", "clients", "Clients that were too slow.")
             .about("The status has them as `requests.client_timeouts`.")),
     metric_row<&WorkerCounters::events_lost>("", kEventsLostMetric)});
// Texts, not rows: each has its count from its first use on.
inline constexpr Metric kRefusalsMetric =
    counter_metric("prophecy_refusals_total", "refusals",
                   "Requests and connections that the sketcher refused, by what was wrong.")
        .by("reason",
            "The text of `Prophecy-Reason`; the error in a connection's PROXY header or handshake "
            "(`TLS: ...`); violations of HTTP/2 (`HTTP/2: ...`); beyond 96 texts `other`. The "
            "status "
            "has them as `refusals`.");

}  // namespace prophecy::sketcher

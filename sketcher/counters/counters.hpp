// What the workers count, in memory that the master reads. Each worker has blocks of its own and
// is their only writer, so counting is a load and a store, without a locked instruction. A block
// outlives its worker: the replacement goes on counting in it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "http/exchange_end.hpp"
#include "replica_client/core/call.hpp"
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
};

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
  Counter refused;              // by us, before the group was asked: 4xx, 501, 505
  Counter failed;               // the group gave no answer: 502, 503, 405
  Counter abandoned;            // the client left: a reset, not an orderly end of its sending

  Counter tunnels_opened;      // likewise: the connection was handed to another protocol
  Counter tunnel_bytes_in;     // from clients
  Counter tunnel_bytes_out;    // to clients
  Counter hedged;              // fast reads for which a second origin was asked
  Counter hedges_won;          // of these, those that it answered first
  Counter over_budget;         // of those failed: the slow path's budget was used up
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
constexpr std::pair<std::string_view, Counter LargeCounters::*> kLargeCounters[] = {
    {"lists_found", &LargeCounters::lists_found},
    {"begun", &LargeCounters::begun},
    {"completed", &LargeCounters::completed},
    {"broken", &LargeCounters::broken},
    {"switched", &LargeCounters::switched},
    {"blocks_refuted", &LargeCounters::blocks_refuted},
    {"let_go", &LargeCounters::let_go}};

// Requests' bodies in files.
struct SpoolCounters {
  Counter bytes;  // held now: gauges, zeroed when a worker starts
  Counter files;
  Counter bodies;    // that were too large for memory
  Counter refused;   // of these: no room was left, or the disk took no more
  Counter too_slow;  // bodies that gave way for want of room, or took too long
};

struct alignas(64) WorkerCounters {
  // Open now: gauges, zeroed when a worker starts.
  Counter connections;
  Counter tunnels;
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
  SpoolCounters spool;
  TlsCounters tls;
  Http2Counters http2;
};

}  // namespace prophecy::sketcher
